-- freshness_history
CREATE TABLE public.freshness_history (
    day date NOT NULL,
    made_at timestamp without time zone NOT NULL,
    statuses jsonb NOT NULL,
    organizations jsonb NOT NULL,
    hosts jsonb NOT NULL
);
COMMENT ON COLUMN public.freshness_history.day IS 'day in UTC';
COMMENT ON COLUMN public.freshness_history.made_at IS 'when it was counted';
COMMENT ON COLUMN public.freshness_history.statuses IS 'datasets by status';
COMMENT ON COLUMN public.freshness_history.organizations IS 'datasets by status, by id of organization';
COMMENT ON COLUMN public.freshness_history.hosts IS 'resources by host of their URL';
INSERT INTO public.freshness_history (day, made_at, statuses, organizations, hosts) VALUES ('2026-01-05', '2026-01-05 01:45:00', '{"due": 1, "fresh": 1}', '{"gone": {"due": 1}, "00000000-0000-4000-8000-000000000001": {"fresh": 1}}', '{"x.org": 1}');
ALTER TABLE ONLY public.freshness_history
    ADD CONSTRAINT freshness_history_pkey PRIMARY KEY (day);
