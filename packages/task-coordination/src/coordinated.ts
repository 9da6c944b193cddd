import type { Execution } from '@taskstream/task-api'
import { JobListener } from '@taskstream/task-scheduler'
import type { AttachOptions, ClockJobStopReport, JobListenerOptions, JobService } from '@taskstream/task-scheduler'
import { Leader } from './leader.ts'
import type { LeaderOptions } from './leader-options.ts'

/** A listener whose services run on the node that leads its group. Made by `coordinated`. */
export class CoordinatedListener<Transaction, E extends Execution = Execution> implements AsyncDisposable {
  readonly listener: JobListener
  /** The node in its group. A service that writes does so in `leader.transaction`. */
  readonly leader: Leader<Transaction, E>

  constructor(options: Omit<JobListenerOptions, 'gate'>, group: LeaderOptions<Transaction, E>) {
    this.leader = new Leader(group)
    this.listener = new JobListener({ ...options, gate: () => this.leader.signal })
  }

  /** As `JobListener.attach`. */
  attach(service: JobService, name?: string, options?: AttachOptions): string {
    return this.listener.attach(service, name, options)
  }

  /** As `JobListener.detach`. */
  detach(service: JobService): void {
    this.listener.detach(service)
  }

  /** Enters the group, and schedules the services. @throws as `Leader.start` and `JobListener.start` */
  async start(): Promise<void> {
    await this.leader.start()
    try {
      this.listener.start()
    } catch (error) {
      await this.leader.stop()
      throw error
    }
  }

  /** Waits until all running fires have ended, and leaves the group, so that another node may lead at once. A call of `immediateStop` ends the waiting. */
  async gracefulStop(): Promise<ClockJobStopReport> {
    return this.#leave(await this.listener.gracefulStop())
  }

  /**
   * Aborts the running fires, and leaves the group. If one of them does not end within two seconds, this node leaves without a word, and others take over when
   * they have seen no heartbeat for long enough.
   */
  async immediateStop(): Promise<ClockJobStopReport> {
    return this.#leave(await this.listener.immediateStop())
  }

  /** Stops gracefully, and after ten seconds immediately. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.listener[Symbol.asyncDispose]()
    await this.immediateStop()
  }

  async #leave(report: ClockJobStopReport): Promise<ClockJobStopReport> {
    await this.leader.stop({ leave: report.abandoned.length === 0 })
    return report
  }
}

/**
 * A job listener on several nodes, of which one runs its services: warm backup. On the others a fire is passed over: it does not count towards `maxCount`, and
 * an error of the database fails no service. When the node leads no longer, the signals of its running fires abort.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const listener = coordinated(
 *   { trigger: { intervalMs: 60_000, onError: 'log-and-continue' } },
 *   { repository: tasks, transactions, groupId: 'reports', taskId: 'node-1' },
 * )
 * listener.attach(({ signal }) => report(signal), 'report')
 * await listener.start()
 */
export function coordinated<Transaction, E extends Execution>(
  options: Omit<JobListenerOptions, 'gate'>,
  group: LeaderOptions<Transaction, E>,
): CoordinatedListener<Transaction, E> {
  return new CoordinatedListener(options, group)
}
