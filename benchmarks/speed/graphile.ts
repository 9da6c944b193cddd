/** The settings of graphile-worker with which it is fastest here: a local queue, and many jobs at a time. */
export const preset = {
  worker: {
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
} as const
