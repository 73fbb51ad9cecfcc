-- freshness_check
CREATE TABLE public.freshness_check (
    resource_id text NOT NULL,
    package_id text NOT NULL,
    url text NOT NULL,
    host text NOT NULL,
    first_seen timestamp without time zone NOT NULL,
    etag text,
    last_modified text,
    hash text,
    earlier text[] DEFAULT '{}'::text[] NOT NULL,
    outdated boolean DEFAULT false NOT NULL,
    unconfirmed boolean DEFAULT false NOT NULL,
    hashed_at timestamp without time zone,
    visited_at timestamp without time zone,
    tried_at timestamp without time zone,
    succeeded_at timestamp without time zone,
    changed_at timestamp without time zone,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp without time zone,
    undetermined text,
    handed_to text,
    seen_modified timestamp without time zone,
    attempts jsonb DEFAULT '[]'::jsonb NOT NULL,
    wrote jsonb DEFAULT '{}'::jsonb NOT NULL,
    tabular boolean DEFAULT false NOT NULL,
    promised text,
    found text
);
COMMENT ON TABLE public.freshness_check IS 'what is known of each resource''s URL';
COMMENT ON COLUMN public.freshness_check.resource_id IS 'resource';
COMMENT ON COLUMN public.freshness_check.package_id IS 'its dataset';
COMMENT ON COLUMN public.freshness_check.url IS 'its URL, which all the rest is about';
COMMENT ON COLUMN public.freshness_check.host IS 'host of that URL, normalised; empty if it names none';
COMMENT ON COLUMN public.freshness_check.first_seen IS 'start of the first run that knew the resource';
COMMENT ON COLUMN public.freshness_check.etag IS 'ETag to be sent back; empty if the server gave none';
COMMENT ON COLUMN public.freshness_check.last_modified IS 'Last-Modified to be sent back, as the server wrote it';
COMMENT ON COLUMN public.freshness_check.hash IS 'of the bytes as last confirmed, after its detector''s name: sha256:...';
COMMENT ON COLUMN public.freshness_check.earlier IS 'hashes seen before that one, newest first';
COMMENT ON COLUMN public.freshness_check.outdated IS 'the hash is older than ETag and Last-Modified';
COMMENT ON COLUMN public.freshness_check.unconfirmed IS 'another hash was met and could not be confirmed: the next run asks again';
COMMENT ON COLUMN public.freshness_check.hashed_at IS 'when the bytes were last read and hashed';
COMMENT ON COLUMN public.freshness_check.visited_at IS 'start of the run of the last visit, from which intervals count';
COMMENT ON COLUMN public.freshness_check.tried_at IS 'end of the last visit';
COMMENT ON COLUMN public.freshness_check.succeeded_at IS 'end of the last visit that found the resource there';
COMMENT ON COLUMN public.freshness_check.changed_at IS 'when a confirmed new hash was last met';
COMMENT ON COLUMN public.freshness_check.failures IS 'failed visits since the last success';
COMMENT ON COLUMN public.freshness_check.failing_since IS 'the first of those failed visits';
COMMENT ON COLUMN public.freshness_check.undetermined IS 'why changes cannot be determined: api, blocked; empty if they can';
COMMENT ON COLUMN public.freshness_check.handed_to IS 'URL of a host of another worker, to which the URL redirects, and which goes on there';
COMMENT ON COLUMN public.freshness_check.seen_modified IS 'the resource''s own last_modified as the last run saw it';
COMMENT ON COLUMN public.freshness_check.attempts IS 'the last five visits, newest first';
COMMENT ON COLUMN public.freshness_check.wrote IS 'what the checker wrote into the resource''s fields: last_modified, size, mimetype, hash';
COMMENT ON COLUMN public.freshness_check.tabular IS 'the last good bytes were a table of several lines or columns, as promised';
COMMENT ON COLUMN public.freshness_check.promised IS 'format of the resource when the bytes were of another kind; empty if they fitted';
COMMENT ON COLUMN public.freshness_check.found IS 'kind of those bytes; empty if they fitted';
INSERT INTO public.freshness_check (resource_id, package_id, url, host, first_seen, etag, last_modified, hash, earlier, outdated, unconfirmed, hashed_at, visited_at, tried_at, succeeded_at, changed_at, failures, failing_since, undetermined, handed_to, seen_modified, attempts, wrote, tabular, promised, found) VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002', 'http://x.org/1', 'x.org', '2026-01-01 00:00:00', '"abc"', 'Mon, 05 Jan 2026 06:00:00 GMT', 'sha256:22', '{sha256:11,sha256:00}', true, true, '2026-01-05 06:00:00', '2026-01-06 01:30:00', '2026-01-06 01:31:00', '2026-01-05 01:31:00', '2026-01-05 01:31:00', 2, '2026-01-05 23:00:00', 'api', 'https://y.org/1', '2026-01-04 00:00:00', '[{"at": "2026-01-06T01:31:00Z", "reason": "proxy", "outcome": "error"}, {"at": "2026-01-06T01:01:00Z", "outcome": "cannot tell"}, {"at": "2026-01-06T00:31:00Z", "status": 404, "outcome": "error"}, {"at": "2026-01-05T23:00:00Z", "reason": "format", "outcome": "error"}, {"at": "2026-01-05T01:31:00Z", "status": 200, "outcome": "same hash"}]', '{"size": 1000, "last_modified": "2026-01-05T06:00:00"}', true, 'CSV', 'HTML');
INSERT INTO public.freshness_check (resource_id, package_id, url, host, first_seen, etag, last_modified, hash, earlier, outdated, unconfirmed, hashed_at, visited_at, tried_at, succeeded_at, changed_at, failures, failing_since, undetermined, handed_to, seen_modified, attempts, wrote, tabular, promised, found) VALUES ('another', 'other', '', '', '2026-01-06 00:00:00', NULL, NULL, NULL, '{}', false, false, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, '[]', '{}', false, NULL, NULL);
ALTER TABLE ONLY public.freshness_check
    ADD CONSTRAINT freshness_check_pkey PRIMARY KEY (resource_id);
CREATE INDEX ix_freshness_check_failing ON public.freshness_check USING btree (failing_since, resource_id) WHERE (failing_since IS NOT NULL);
CREATE INDEX ix_freshness_check_host ON public.freshness_check USING btree (host);
CREATE INDEX ix_freshness_check_mismatch ON public.freshness_check USING btree (host, resource_id) WHERE (found IS NOT NULL);
CREATE INDEX ix_freshness_check_package_id ON public.freshness_check USING btree (package_id);
CREATE INDEX ix_freshness_check_undetermined ON public.freshness_check USING btree (host, resource_id) WHERE (undetermined IS NOT NULL);
