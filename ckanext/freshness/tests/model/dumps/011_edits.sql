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
    resource_name text
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
CREATE SEQUENCE public.freshness_transition_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.freshness_transition_id_seq OWNED BY public.freshness_transition.id;
ALTER TABLE ONLY public.freshness_transition ALTER COLUMN id SET DEFAULT nextval('public.freshness_transition_id_seq'::regclass);
INSERT INTO public.freshness_transition (id, package_id, from_status, to_status, changed_at, evidence, cause, run_id, action, change, resource_id, resource_name) VALUES (1, '00000000-0000-4000-8000-000000000002', 'due', 'fresh', '2026-01-05 06:00:00', 'http header', 'check', 'run', NULL, NULL, NULL, NULL);
INSERT INTO public.freshness_transition (id, package_id, from_status, to_status, changed_at, evidence, cause, run_id, action, change, resource_id, resource_name) VALUES (2, 'other', NULL, 'due', '2026-01-05 07:00:00', 'url', 'frequency', NULL, 'resource_update', 'replaced', 'another', 'data.csv');
SELECT pg_catalog.setval('public.freshness_transition_id_seq', 2, true);
ALTER TABLE ONLY public.freshness_transition
    ADD CONSTRAINT freshness_transition_pkey PRIMARY KEY (id);
CREATE INDEX ix_freshness_transition_changed_at ON public.freshness_transition USING btree (changed_at);
CREATE INDEX ix_freshness_transition_package_id ON public.freshness_transition USING btree (package_id);
