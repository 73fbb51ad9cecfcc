-- freshness_unindexed
CREATE TABLE public.freshness_unindexed (
    package_id text NOT NULL,
    since timestamp without time zone NOT NULL
);
COMMENT ON TABLE public.freshness_unindexed IS 'datasets whose documents in Solr are older than their extras';
COMMENT ON COLUMN public.freshness_unindexed.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_unindexed.since IS 'when its extras were written, by a run that had not sent its document yet';
INSERT INTO public.freshness_unindexed (package_id, since) VALUES ('00000000-0000-4000-8000-000000000002', '2026-01-05 06:00:01');
ALTER TABLE ONLY public.freshness_unindexed
    ADD CONSTRAINT freshness_unindexed_pkey PRIMARY KEY (package_id);
