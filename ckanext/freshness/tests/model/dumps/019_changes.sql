-- freshness_change
CREATE TABLE public.freshness_change (
    id text NOT NULL,
    "position" bigint,
    package_id text NOT NULL,
    resource_id text,
    seen_at timestamp without time zone NOT NULL,
    changed_after timestamp without time zone,
    changed_before timestamp without time zone NOT NULL,
    stated_at timestamp without time zone,
    evidence text NOT NULL,
    hash_before text,
    hash_after text,
    size_before bigint,
    size_after bigint,
    media_type_before text,
    media_type_after text,
    summary jsonb
);
COMMENT ON TABLE public.freshness_change IS 'each change of a dataset''s data, kept for two years';
COMMENT ON COLUMN public.freshness_change.id IS 'UUID; the cursor after this change';
COMMENT ON COLUMN public.freshness_change."position" IS 'place in the order of commits; empty until the stream is read the next time';
COMMENT ON COLUMN public.freshness_change.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_change.resource_id IS 'resource; empty if the change is of the dataset as a whole';
COMMENT ON COLUMN public.freshness_change.seen_at IS 'when the change was noticed';
COMMENT ON COLUMN public.freshness_change.changed_after IS 'the last moment at which the old data are known; empty if unknown';
COMMENT ON COLUMN public.freshness_change.changed_before IS 'the first moment at which the new data are known';
COMMENT ON COLUMN public.freshness_change.stated_at IS 'date of the change as the server, source or editor states it';
COMMENT ON COLUMN public.freshness_change.evidence IS 'how we know: upload, url, harvest, http header, hash or script';
COMMENT ON COLUMN public.freshness_change.hash_before IS 'hash of the old file; empty if unknown';
COMMENT ON COLUMN public.freshness_change.hash_after IS 'hash of the new file; empty if it was not read';
COMMENT ON COLUMN public.freshness_change.size_before IS 'bytes of the old file, as the resource had it';
COMMENT ON COLUMN public.freshness_change.size_after IS 'bytes of the new file; empty if it was not read';
COMMENT ON COLUMN public.freshness_change.media_type_before IS 'media type of the old file, as the resource had it';
COMMENT ON COLUMN public.freshness_change.media_type_after IS 'media type of the new file';
COMMENT ON COLUMN public.freshness_change.summary IS 'what changed in the tables of the file; empty if it could not be determined';
INSERT INTO public.freshness_change (id, "position", package_id, resource_id, seen_at, changed_after, changed_before, stated_at, evidence, hash_before, hash_after, size_before, size_after, media_type_before, media_type_after, summary) VALUES ('change', 1, '00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000003', '2026-01-05 01:31:00', '2026-01-04 01:31:00', '2026-01-05 01:31:00', '2026-01-05 06:00:00', 'http header', 'sha256:11', 'sha256:22', 900, 1000, 'text/plain', 'text/csv', '[{"name": "data", "rows": [9, 10]}]');
ALTER TABLE ONLY public.freshness_change
    ADD CONSTRAINT freshness_change_pkey PRIMARY KEY (id);
CREATE INDEX ix_freshness_change_package_id ON public.freshness_change USING btree (package_id, seen_at);
CREATE UNIQUE INDEX ix_freshness_change_position ON public.freshness_change USING btree ("position");
CREATE INDEX ix_freshness_change_seen_at ON public.freshness_change USING btree (seen_at);
CREATE INDEX ix_freshness_change_unplaced ON public.freshness_change USING btree (id) WHERE ("position" IS NULL);
