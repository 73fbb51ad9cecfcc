-- freshness_comparison
CREATE TABLE public.freshness_comparison (
    id integer NOT NULL,
    began_at timestamp without time zone NOT NULL
);
COMMENT ON TABLE public.freshness_comparison IS 'when all datasets were last compared; later refreshes compare edited datasets';
COMMENT ON COLUMN public.freshness_comparison.id IS 'always 1';
COMMENT ON COLUMN public.freshness_comparison.began_at IS 'when a refresh began that compared the extras of all datasets';
INSERT INTO public.freshness_comparison (id, began_at) VALUES (1, '2026-01-05 01:50:00');
ALTER TABLE ONLY public.freshness_comparison
    ADD CONSTRAINT freshness_comparison_pkey PRIMARY KEY (id);
