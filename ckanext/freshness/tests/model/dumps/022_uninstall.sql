-- freshness_uninstall
CREATE TABLE public.freshness_uninstall (
    began_at timestamp without time zone NOT NULL
);
COMMENT ON TABLE public.freshness_uninstall IS 'while it has a row, no extra and no field of a resource is written';
COMMENT ON COLUMN public.freshness_uninstall.began_at IS 'when ckan freshness-uninstall was first called; no row: never, or undone';
ALTER TABLE ONLY public.freshness_uninstall
    ADD CONSTRAINT freshness_uninstall_pkey PRIMARY KEY (began_at);
