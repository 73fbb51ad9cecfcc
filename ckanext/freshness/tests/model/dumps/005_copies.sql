-- freshness_copy
CREATE TABLE public.freshness_copy (
    resource_id text NOT NULL,
    package_id text NOT NULL,
    key text,
    zip_key text,
    size bigint NOT NULL,
    zip_size bigint,
    sha256 text NOT NULL,
    mimetype text,
    filename text NOT NULL,
    source_url text NOT NULL,
    stored_at timestamp without time zone NOT NULL,
    verified_at timestamp without time zone NOT NULL,
    expired_at timestamp without time zone
);
COMMENT ON TABLE public.freshness_copy IS 'last known good copies of resources';
COMMENT ON COLUMN public.freshness_copy.resource_id IS 'resource';
COMMENT ON COLUMN public.freshness_copy.package_id IS 'its dataset';
COMMENT ON COLUMN public.freshness_copy.key IS 'of the bytes in the store; empty if they were removed';
COMMENT ON COLUMN public.freshness_copy.zip_key IS 'of their ZIP in the store; empty if there is none';
COMMENT ON COLUMN public.freshness_copy.size IS 'of the bytes';
COMMENT ON COLUMN public.freshness_copy.zip_size IS 'of the ZIP in bytes';
COMMENT ON COLUMN public.freshness_copy.sha256 IS 'of the bytes, hexadecimal';
COMMENT ON COLUMN public.freshness_copy.mimetype IS 'what the server says the bytes are';
COMMENT ON COLUMN public.freshness_copy.filename IS 'under which they are given out';
COMMENT ON COLUMN public.freshness_copy.source_url IS 'where they came from';
COMMENT ON COLUMN public.freshness_copy.stored_at IS 'when they were stored';
COMMENT ON COLUMN public.freshness_copy.verified_at IS 'when the source last had them, as far as it says so';
COMMENT ON COLUMN public.freshness_copy.expired_at IS 'when they were removed from the store because the source failed for too long; empty while they are there';
INSERT INTO public.freshness_copy (resource_id, package_id, key, zip_key, size, zip_size, sha256, mimetype, filename, source_url, stored_at, verified_at, expired_at) VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002', 're/resource/1', 're/resource/1.zip', 1000, 500, '22', 'text/csv', 'data.csv', 'http://x.org/1', '2026-01-05 01:31:00', '2026-01-05 01:31:00', '2026-01-09 00:00:00');
ALTER TABLE ONLY public.freshness_copy
    ADD CONSTRAINT freshness_copy_key_key UNIQUE (key);
ALTER TABLE ONLY public.freshness_copy
    ADD CONSTRAINT freshness_copy_pkey PRIMARY KEY (resource_id);
CREATE INDEX ix_freshness_copy_expired_at ON public.freshness_copy USING btree (expired_at);
CREATE INDEX ix_freshness_copy_package_id ON public.freshness_copy USING btree (package_id);
-- freshness_iati
CREATE TABLE public.freshness_iati (
    resource_id text NOT NULL,
    package_id text NOT NULL,
    source_id text NOT NULL,
    organisation_id text NOT NULL,
    organisation_name text NOT NULL,
    dataset_id text NOT NULL,
    dataset_name text NOT NULL,
    last_update_check timestamp without time zone,
    head_attempt jsonb,
    get_attempt jsonb,
    hash text,
    hash_excluding_generated_timestamp text,
    downloaded timestamp without time zone,
    verified_on_server timestamp without time zone,
    content_length bigint,
    initial_contents text,
    etag text,
    last_modified text,
    source_url text,
    content_modified timestamp without time zone,
    content_modified_excluding_generated_timestamp timestamp without time zone,
    attempts jsonb DEFAULT '[]'::jsonb NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    postponed_until timestamp without time zone,
    published boolean DEFAULT false NOT NULL
);
COMMENT ON TABLE public.freshness_iati IS 'what IATI''s update cycle knows of each registered dataset';
COMMENT ON COLUMN public.freshness_iati.resource_id IS 'its only resource';
COMMENT ON COLUMN public.freshness_iati.package_id IS 'its dataset in CKAN';
COMMENT ON COLUMN public.freshness_iati.source_id IS 'harvest source that registered it';
COMMENT ON COLUMN public.freshness_iati.organisation_id IS 'the registry''s id of its reporting organisation';
COMMENT ON COLUMN public.freshness_iati.organisation_name IS 'short name of that one';
COMMENT ON COLUMN public.freshness_iati.dataset_id IS 'the registry''s id of the dataset';
COMMENT ON COLUMN public.freshness_iati.dataset_name IS 'its short name';
COMMENT ON COLUMN public.freshness_iati.last_update_check IS 'when a cycle last came to it: step 1';
COMMENT ON COLUMN public.freshness_iati.head_attempt IS 'the most recent HEAD; empty if there was none';
COMMENT ON COLUMN public.freshness_iati.get_attempt IS 'the most recent GET; empty if there was none';
COMMENT ON COLUMN public.freshness_iati.hash IS 'SHA-1 of the last known good bytes, hexadecimal';
COMMENT ON COLUMN public.freshness_iati.hash_excluding_generated_timestamp IS 'likewise, without any generated-datetime attribute';
COMMENT ON COLUMN public.freshness_iati.downloaded IS 'when the last known good bytes were downloaded';
COMMENT ON COLUMN public.freshness_iati.verified_on_server IS 'when the server last confirmed them';
COMMENT ON COLUMN public.freshness_iati.content_length IS 'Content-Length that came with them, in bytes';
COMMENT ON COLUMN public.freshness_iati.initial_contents IS 'their first 150 characters';
COMMENT ON COLUMN public.freshness_iati.etag IS 'ETag that came with them';
COMMENT ON COLUMN public.freshness_iati.last_modified IS 'Last-Modified that came with them, as the server wrote it';
COMMENT ON COLUMN public.freshness_iati.source_url IS 'URL that they came from';
COMMENT ON COLUMN public.freshness_iati.content_modified IS 'when a new hash was last met';
COMMENT ON COLUMN public.freshness_iati.content_modified_excluding_generated_timestamp IS 'when a new hash without generated-datetime attributes was last met';
COMMENT ON COLUMN public.freshness_iati.attempts IS 'the last five attempts, newest first';
COMMENT ON COLUMN public.freshness_iati.failures IS 'failed visits since the last success';
COMMENT ON COLUMN public.freshness_iati.postponed_until IS 'before this moment a failing URL is not asked again; empty if it may be';
COMMENT ON COLUMN public.freshness_iati.published IS 'the index files and the bulk ZIPs of its source name it';
INSERT INTO public.freshness_iati (resource_id, package_id, source_id, organisation_id, organisation_name, dataset_id, dataset_name, last_update_check, head_attempt, get_attempt, hash, hash_excluding_generated_timestamp, downloaded, verified_on_server, content_length, initial_contents, etag, last_modified, source_url, content_modified, content_modified_excluding_generated_timestamp, attempts, failures, postponed_until, published) VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002', 'source', 'o1', 'org', 'd1', 'org-1', '2026-01-05 01:31:00', '{"status": 200}', '{"status": 404}', '33', '44', '2026-01-05 01:31:00', '2026-01-05 01:31:00', 1000, '<iati-activities', '"abc"', 'Mon, 05 Jan 2026 06:00:00 GMT', 'http://x.org/1', '2026-01-05 01:31:00', '2026-01-05 01:31:00', '[{"status": 404}]', 1, '2026-01-06 02:31:00', true);
ALTER TABLE ONLY public.freshness_iati
    ADD CONSTRAINT freshness_iati_pkey PRIMARY KEY (resource_id);
CREATE INDEX ix_freshness_iati_package_id ON public.freshness_iati USING btree (package_id);
CREATE INDEX ix_freshness_iati_source_id ON public.freshness_iati USING btree (source_id);
