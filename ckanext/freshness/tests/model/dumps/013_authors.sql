-- freshness_evidence
CREATE TABLE public.freshness_evidence (
    package_id text NOT NULL,
    resource_id text NOT NULL,
    evidence text NOT NULL,
    happened_at timestamp without time zone NOT NULL,
    claimed_at timestamp without time zone,
    author text,
    previous_at timestamp without time zone
);
COMMENT ON TABLE public.freshness_evidence IS 'one date, and why it is believed, of a resource or of a dataset as a whole';
COMMENT ON COLUMN public.freshness_evidence.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_evidence.resource_id IS 'resource; empty text for the dataset as a whole';
COMMENT ON COLUMN public.freshness_evidence.evidence IS 'upload, url, created, harvest...';
COMMENT ON COLUMN public.freshness_evidence.happened_at IS 'the date that counts';
COMMENT ON COLUMN public.freshness_evidence.claimed_at IS 'the date in the future that happened_at was cut from; empty if it was not';
COMMENT ON COLUMN public.freshness_evidence.author IS 'name of the user whose edit showed it, if known';
COMMENT ON COLUMN public.freshness_evidence.previous_at IS 'of a review: the one before it, which counts again if it is withdrawn';
INSERT INTO public.freshness_evidence (package_id, resource_id, evidence, happened_at, claimed_at, author, previous_at) VALUES ('00000000-0000-4000-8000-000000000002', '00000000-0000-4000-8000-000000000003', 'http header', '2026-01-05 06:00:00', NULL, NULL, NULL);
INSERT INTO public.freshness_evidence (package_id, resource_id, evidence, happened_at, claimed_at, author, previous_at) VALUES ('00000000-0000-4000-8000-000000000002', '', 'review', '2026-01-03 10:00:00', NULL, 'editor', '2026-01-02 10:00:00');
ALTER TABLE ONLY public.freshness_evidence
    ADD CONSTRAINT freshness_evidence_pkey PRIMARY KEY (package_id, resource_id, evidence);
-- freshness_transition
CREATE TABLE public.freshness_transition (
    id bigint NOT NULL,
    package_id text NOT NULL,
    from_status text,
    to_status text NOT NULL,
    changed_at timestamp without time zone NOT NULL,
    evidence text,
    cause text NOT NULL,
    run_id text,
    action text,
    change text,
    resource_id text,
    resource_name text,
    author text,
    frequency_before integer,
    frequency_after integer
);
COMMENT ON TABLE public.freshness_transition IS 'each change of a status';
COMMENT ON COLUMN public.freshness_transition.package_id IS 'dataset';
COMMENT ON COLUMN public.freshness_transition.from_status IS 'status before; empty for the first one';
COMMENT ON COLUMN public.freshness_transition.to_status IS 'status after';
COMMENT ON COLUMN public.freshness_transition.changed_at IS 'when it changed: a boundary, or the write';
COMMENT ON COLUMN public.freshness_transition.evidence IS 'the evidence that counted then';
COMMENT ON COLUMN public.freshness_transition.cause IS 'edit, time, check or recompute: who wrote it';
COMMENT ON COLUMN public.freshness_transition.run_id IS 'the run that wrote it; empty outside runs';
COMMENT ON COLUMN public.freshness_transition.action IS 'CKAN''s action that changed the dataset; empty if no edit did';
COMMENT ON COLUMN public.freshness_transition.change IS 'added, replaced, edited or removed: what it did to a resource';
COMMENT ON COLUMN public.freshness_transition.resource_id IS 'that resource';
COMMENT ON COLUMN public.freshness_transition.resource_name IS 'its name, or its URL if it had none';
COMMENT ON COLUMN public.freshness_transition.author IS 'name of the user whose edit it was, if one was';
COMMENT ON COLUMN public.freshness_transition.frequency_before IS 'update frequency before, if the status changed because that did';
COMMENT ON COLUMN public.freshness_transition.frequency_after IS 'and after';
CREATE SEQUENCE public.freshness_transition_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.freshness_transition_id_seq OWNED BY public.freshness_transition.id;
ALTER TABLE ONLY public.freshness_transition ALTER COLUMN id SET DEFAULT nextval('public.freshness_transition_id_seq'::regclass);
INSERT INTO public.freshness_transition (id, package_id, from_status, to_status, changed_at, evidence, cause, run_id, action, change, resource_id, resource_name, author, frequency_before, frequency_after) VALUES (1, '00000000-0000-4000-8000-000000000002', 'due', 'fresh', '2026-01-05 06:00:00', 'http header', 'check', 'run', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.freshness_transition (id, package_id, from_status, to_status, changed_at, evidence, cause, run_id, action, change, resource_id, resource_name, author, frequency_before, frequency_after) VALUES (2, 'other', NULL, 'due', '2026-01-05 07:00:00', 'url', 'frequency', NULL, 'resource_update', 'replaced', 'another', 'data.csv', 'editor', 30, 7);
SELECT pg_catalog.setval('public.freshness_transition_id_seq', 2, true);
ALTER TABLE ONLY public.freshness_transition
    ADD CONSTRAINT freshness_transition_pkey PRIMARY KEY (id);
CREATE INDEX ix_freshness_transition_changed_at ON public.freshness_transition USING btree (changed_at);
CREATE INDEX ix_freshness_transition_package_id ON public.freshness_transition USING btree (package_id);
