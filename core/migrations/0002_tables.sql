-- Generated columns, storage and statistics

ALTER TABLE public.procrastinate_jobs SET (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE public.accounts_change SET (autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.05');
ALTER TABLE ONLY public.accounts_change ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_idempotentanswer ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_staleword ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE ONLY public.accounts_word ALTER COLUMN account_id SET (n_distinct=2);
ALTER TABLE public.core_follower SET (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000');
ALTER TABLE ONLY public.core_follower ALTER COLUMN account_id SET (n_distinct=2);

-- Indexes

CREATE INDEX core_job_due ON public.procrastinate_jobs USING btree (queue_name, scheduled_at, id) WHERE (status = 'todo'::public.procrastinate_job_status);
CREATE INDEX core_job_failed ON public.procrastinate_jobs USING btree (id) WHERE (status = 'failed'::public.procrastinate_job_status);

-- Foreign keys

ALTER TABLE ONLY public.core_joberror ADD CONSTRAINT core_joberror_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id) ON DELETE CASCADE;

-- Triggers

-- NOTIFY makes every commit take a global lock, and workers poll. The events would be two more rows for each step of a job.
DROP TRIGGER procrastinate_jobs_notify_queue_job_aborted_v1 ON public.procrastinate_jobs;
DROP TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 ON public.procrastinate_jobs;
DROP TRIGGER procrastinate_trigger_abort_requested_events_v1 ON public.procrastinate_jobs;
DROP TRIGGER procrastinate_trigger_scheduled_events_v1 ON public.procrastinate_jobs;
DROP TRIGGER procrastinate_trigger_status_events_insert_v1 ON public.procrastinate_jobs;
DROP TRIGGER procrastinate_trigger_status_events_update_v1 ON public.procrastinate_jobs;
