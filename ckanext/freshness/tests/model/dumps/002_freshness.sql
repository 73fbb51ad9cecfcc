-- freshness_dataset
CREATE TABLE public.freshness_dataset (
    package_id text NOT NULL,
    status text NOT NULL,
    last_modified timestamp without time zone,
    evidence text,
    frequency_days integer,
    frequency_from text,
    due timestamp without time zone,
    overdue timestamp without time zone,
    delinquent timestamp without time zone,
    next_boundary timestamp without time zone,
    undetermined text,
    stated_date text,
    stated_since timestamp without time zone
);
COMMENT ON TABLE public.freshness_dataset IS 'how fresh a dataset is, as its extras and its document in Solr say it';
COMMENT ON COLUMN public.freshness_dataset.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_dataset.status IS 'fresh, due, overdue, delinquent or unavailable; as of the last write';
COMMENT ON COLUMN public.freshness_dataset.last_modified IS 'newest modification that counts; empty if none is known';
COMMENT ON COLUMN public.freshness_dataset.evidence IS 'why last_modified is believed: upload, url, created...';
COMMENT ON COLUMN public.freshness_dataset.frequency_days IS 'days; 0 live, -1 never, -2 as needed; empty if none is understood';
COMMENT ON COLUMN public.freshness_dataset.frequency_from IS 'dataset, or who is assumed to speak for it: source, organization, site; empty if nobody';
COMMENT ON COLUMN public.freshness_dataset.due IS 'when it becomes due; empty where time changes nothing';
COMMENT ON COLUMN public.freshness_dataset.overdue IS 'when it becomes overdue';
COMMENT ON COLUMN public.freshness_dataset.delinquent IS 'when it becomes delinquent';
COMMENT ON COLUMN public.freshness_dataset.next_boundary IS 'when status changes by itself; empty if it never does';
COMMENT ON COLUMN public.freshness_dataset.undetermined IS 'why the deciding resource cannot be determined: api, adhoc, blocked';
COMMENT ON COLUMN public.freshness_dataset.stated_date IS 'dataset_date as the dataset has it; never counts';
COMMENT ON COLUMN public.freshness_dataset.stated_since IS 'when that dataset_date was first seen';
INSERT INTO public.freshness_dataset (package_id, status, last_modified, evidence, frequency_days, frequency_from, due, overdue, delinquent, next_boundary, undetermined, stated_date, stated_since) VALUES ('00000000-0000-4000-8000-000000000002', 'fresh', '2026-01-05 06:00:00', 'http header', 7, 'dataset', '2026-01-12 06:00:00', '2026-01-19 06:00:00', '2026-01-26 06:00:00', '2026-01-12 06:00:00', NULL, '2025-12-31', '2026-01-01 00:00:00');
ALTER TABLE ONLY public.freshness_dataset
    ADD CONSTRAINT freshness_dataset_pkey PRIMARY KEY (package_id);
CREATE INDEX ix_freshness_dataset_next_boundary ON public.freshness_dataset USING btree (next_boundary);
-- freshness_evidence
CREATE TABLE public.freshness_evidence (
    package_id text NOT NULL,
    resource_id text NOT NULL,
    evidence text NOT NULL,
    happened_at timestamp without time zone NOT NULL,
    claimed_at timestamp without time zone
);
COMMENT ON TABLE public.freshness_evidence IS 'one date, and why it is believed, of a resource or of a dataset as a whole';
COMMENT ON COLUMN public.freshness_evidence.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_evidence.resource_id IS 'resource; empty text for the dataset as a whole';
COMMENT ON COLUMN public.freshness_evidence.evidence IS 'upload, url, created, harvest...';
COMMENT ON COLUMN public.freshness_evidence.happened_at IS 'the date that counts';
COMMENT ON COLUMN public.freshness_evidence.claimed_at IS 'the date in the future that happened_at was cut from; empty if it was not';
INSERT INTO public.freshness_evidence (package_id, resource_id, evidence, happened_at, claimed_at) VALUES ('00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000003', 'http header', '2026-01-05 06:00:00', NULL);
INSERT INTO public.freshness_evidence (package_id, resource_id, evidence, happened_at, claimed_at) VALUES ('00000000-0000-4000-8000-000000000002', '', 'review', '2026-01-03 10:00:00', NULL);
ALTER TABLE ONLY public.freshness_evidence
    ADD CONSTRAINT freshness_evidence_pkey PRIMARY KEY (package_id, resource_id, evidence);
-- freshness_resource
CREATE TABLE public.freshness_resource (
    resource_id text NOT NULL,
    package_id text NOT NULL,
    url text NOT NULL,
    hash text,
    hash_writer text,
    first_seen timestamp without time zone NOT NULL
);
COMMENT ON TABLE public.freshness_resource IS 'what a resource was like when it was last looked at, so that a change is noticed';
COMMENT ON COLUMN public.freshness_resource.resource_id IS 'resource';
COMMENT ON COLUMN public.freshness_resource.package_id IS 'its dataset';
COMMENT ON COLUMN public.freshness_resource.url IS 'its URL';
COMMENT ON COLUMN public.freshness_resource.hash IS 'its hash as its dataset has it; empty if none';
COMMENT ON COLUMN public.freshness_resource.hash_writer IS 'who wrote that hash: a user''s name; empty if nobody knows';
COMMENT ON COLUMN public.freshness_resource.first_seen IS 'when it was first seen';
INSERT INTO public.freshness_resource (resource_id, package_id, url, hash, hash_writer, first_seen) VALUES ('00000000-0000-4000-8000-000000000003', '00000000-0000-4000-8000-000000000002', 'http://x.org/1', 'sha256:11', 'script', '2026-01-01 00:00:00');
ALTER TABLE ONLY public.freshness_resource
    ADD CONSTRAINT freshness_resource_pkey PRIMARY KEY (resource_id);
CREATE INDEX ix_freshness_resource_package_id ON public.freshness_resource USING btree (package_id);
-- freshness_transition
CREATE TABLE public.freshness_transition (
    id bigint NOT NULL,
    package_id text NOT NULL,
    from_status text,
    to_status text NOT NULL,
    changed_at timestamp without time zone NOT NULL,
    evidence text,
    cause text NOT NULL,
    run_id text
);
COMMENT ON TABLE public.freshness_transition IS 'each change of a status';
COMMENT ON COLUMN public.freshness_transition.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_transition.from_status IS 'status before; empty for the first one';
COMMENT ON COLUMN public.freshness_transition.to_status IS 'status after';
COMMENT ON COLUMN public.freshness_transition.changed_at IS 'when it changed: a boundary, or the write';
COMMENT ON COLUMN public.freshness_transition.evidence IS 'the evidence that counted then';
COMMENT ON COLUMN public.freshness_transition.cause IS 'edit, time, check or recompute: who wrote it';
COMMENT ON COLUMN public.freshness_transition.run_id IS 'the run that wrote it; empty outside runs';
CREATE SEQUENCE public.freshness_transition_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.freshness_transition_id_seq OWNED BY public.freshness_transition.id;
ALTER TABLE ONLY public.freshness_transition ALTER COLUMN id SET DEFAULT nextval('public.freshness_transition_id_seq'::regclass);
INSERT INTO public.freshness_transition (id, package_id, from_status, to_status, changed_at, evidence, cause, run_id) VALUES (1, '00000000-0000-4000-8000-000000000002', 'due', 'fresh', '2026-01-05 06:00:00', 'http header', 'check', 'run');
INSERT INTO public.freshness_transition (id, package_id, from_status, to_status, changed_at, evidence, cause, run_id) VALUES (2, 'other', NULL, 'due', '2026-01-05 07:00:00', 'url', 'frequency', NULL);
SELECT pg_catalog.setval('public.freshness_transition_id_seq', 2, true);
ALTER TABLE ONLY public.freshness_transition
    ADD CONSTRAINT freshness_transition_pkey PRIMARY KEY (id);
CREATE INDEX ix_freshness_transition_changed_at ON public.freshness_transition USING btree (changed_at);
CREATE INDEX ix_freshness_transition_package_id ON public.freshness_transition USING btree (package_id);
