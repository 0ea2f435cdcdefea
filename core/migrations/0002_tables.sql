-- Storage and statistics

ALTER TABLE public.core_change SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.core_change ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.core_idempotentanswer ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.core_staleword ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.core_word ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.core_follower SET (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY public.core_follower ALTER COLUMN account_id SET (n_distinct=2);
-- Rows are deleted soon, whatever the size of the table.
ALTER TABLE public.core_job SET (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
