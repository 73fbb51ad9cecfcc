-- freshness_harvest_document
CREATE TABLE public.freshness_harvest_document (
    source_id text NOT NULL,
    url text NOT NULL,
    digest text NOT NULL,
    outline jsonb NOT NULL
);
COMMENT ON COLUMN public.freshness_harvest_document.source_id IS 'harvest source';
COMMENT ON COLUMN public.freshness_harvest_document.url IS 'URL of the document';
COMMENT ON COLUMN public.freshness_harvest_document.digest IS 'SHA-256 of its bytes and of what its reading depends on';
COMMENT ON COLUMN public.freshness_harvest_document.outline IS 'what it lists and what its members look like';
INSERT INTO public.freshness_harvest_document (source_id, url, digest, outline) VALUES ('source', 'https://fdp.example/catalog/1', '0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8', '{"members": ["https://fdp.example/dataset/1"]}');
ALTER TABLE ONLY public.freshness_harvest_document
    ADD CONSTRAINT freshness_harvest_document_pkey PRIMARY KEY (source_id, url);
-- freshness_harvest_hold
CREATE TABLE public.freshness_harvest_hold (
    source_id text NOT NULL,
    job_id text NOT NULL,
    held_at timestamp without time zone NOT NULL,
    reason text NOT NULL,
    held jsonb NOT NULL,
    released_at timestamp without time zone,
    released_by text
);
COMMENT ON COLUMN public.freshness_harvest_hold.source_id IS 'harvest source';
COMMENT ON COLUMN public.freshness_harvest_hold.job_id IS 'job that would have deleted these';
COMMENT ON COLUMN public.freshness_harvest_hold.held_at IS 'UTC';
COMMENT ON COLUMN public.freshness_harvest_hold.reason IS 'why the brake holds, for people';
COMMENT ON COLUMN public.freshness_harvest_hold.held IS 'list of {guid, url, package_id, reason}';
COMMENT ON COLUMN public.freshness_harvest_hold.released_at IS 'UTC; empty while nobody has released the list';
COMMENT ON COLUMN public.freshness_harvest_hold.released_by IS 'name of the user who released it';
INSERT INTO public.freshness_harvest_hold (source_id, job_id, held_at, reason, held, released_at, released_by) VALUES ('source', 'job', '2026-01-06 02:00:00', 'It would delete 9 of 10 datasets', '[{"url": "d", "guid": "catalog=c;dataset=d", "reason": "gone", "package_id": "00000000-0000-4000-8000-000000000002"}]', '2026-01-06 09:30:00', 'editor');
ALTER TABLE ONLY public.freshness_harvest_hold
    ADD CONSTRAINT freshness_harvest_hold_pkey PRIMARY KEY (source_id);
