/** A database with something of everything, and the console that shows it. */
import { TaskDecision } from '@taskstream/task-api'
import { taskConsole } from '@taskstream/task-console'
import type { Access, Role, TaskConsole, TaskConsoleOptions } from '@taskstream/task-console'
import { periodicTasks } from '@taskstream/task-scheduler'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { Fixture } from '@taskstream/task-testing/suite'
import type { AnyTransaction, Subject } from '../subject.ts'

export interface Scene {
  readonly topic: string
  /** Sequences of a failed task and of a ready one. */
  readonly failed: number
  readonly ready: number
  readonly owner: string
  readonly fingerprint: string
}

type Options = TaskConsoleOptions<AnyTransaction>

/** Asks consoles over one fixture. */
export class Visitor {
  readonly #fixture: Fixture<Subject>

  constructor(fixture: Fixture<Subject>) {
    this.#fixture = fixture
  }

  get database(): Pick<Options, 'repository' | 'transactions'> {
    return {
      repository: this.#fixture.tasks as unknown as SqlTaskRepository<AnyTransaction>,
      transactions: this.#fixture.subject.transactions,
    }
  }

  consoleFor(access: Access | undefined, more: Partial<Options> = {}): TaskConsole {
    return taskConsole({ ...this.database, authorize: () => access, ...more })
  }

  as(role: Role, more: Partial<Options> = {}): TaskConsole {
    return this.consoleFor({ name: 'kari', role }, more)
  }

  async get(console: TaskConsole, path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return console.fetch(new Request(`http://ops.example/${path}`, { headers }))
  }

  /** Writes as a program does, with a token. */
  async send<Answer = unknown>(
    console: TaskConsole,
    method: string,
    path: string,
    body: unknown = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly answer: Answer }> {
    const given = { 'content-type': 'application/json', authorization: 'Bearer x', ...headers }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await console.fetch(new Request(`http://ops.example/api/v1/${path}`, { method, headers: given, body: text }))
    return { status: response.status, answer: (await response.json()) as Answer }
  }

  async json<Answer>(console: TaskConsole, path: string): Promise<Answer> {
    return (await (await this.get(console, `api/v1/${path}`)).json()) as Answer
  }
}

/** The secrets that the scene has in payloads and errors. */
export const secrets: RegExp = /hunter22|4111111111111111|tok-secret/

export async function makeScene(fixture: Fixture<Subject>): Promise<Scene> {
  await fixture.nextTopic({ keyed: true })
  const { topic } = fixture
  const worker = fixture.subject.tasks({ release: '4.2.1', owner: 'worker-2' })
  await fixture.commit((transaction) => worker.register(transaction))
  const topics = [
    {
      topic,
      concurrency: 4,
      busy: 1,
      ended: 12,
      failed: 1,
      idleMs: 1_000,
      emptyMs: 3,
      stuck: [{ sequence: 1, attempt: 1, forMs: 2_000 }],
    },
  ]
  await fixture.commit((transaction) =>
    worker.report(transaction, { kind: 'node', host: 'h', pid: 1, leaseMs: 30_000, omitted: 2, topics }),
  )
  const input = '{"total":12,"card":"4111111111111111","deep":[{"apiToken":"tok-secret"}]}'
  const [failed] = await fixture.push({ identifier: 'inv-7', input, headers: { trace: 'x' } }, 'inv-8', {
    identifier: 'inv-9',
    delayMs: 3_600_000,
    externalId: 'order-9',
  })
  const error = new TypeError('declined, password=hunter22')
  await fixture.complete(await fixture.poll(1, worker), TaskDecision.failure(error), worker)
  await fixture.poll(1, worker)
  const [ready] = await fixture.push('inv-10')
  await fixture.commit(async (transaction) => {
    await periodicTasks(fixture.tasks).schedule(transaction, { id: 'nightly', timer: '02:30 Europe/Oslo', topic })
    await fixture.tasks.record(transaction, {
      action: 'redrive',
      topic,
      actor: 'ola',
      via: 'cli',
      count: 3,
      note: 'after the fix',
    })
  })
  const groups = await fixture.commit((transaction) => fixture.tasks.errors(transaction, { topic }))
  return { topic, failed: failed!.sequence, ready: ready!.sequence, owner: worker.owner, fingerprint: groups[0]!.fingerprint }
}

/** Paths of the API, each route at least once. */
export function apiPaths({ topic, failed, ready, owner, fingerprint }: Scene): readonly string[] {
  return [
    'info',
    'attention',
    'topics',
    'topics?size=1&offset=0',
    `topics/${topic}`,
    `topics/${topic}/tasks`,
    `topics/${topic}/tasks?state=failed&state=active&size=1`,
    `topics/${topic}/tasks?identifier=inv-9`,
    `topics/${topic}/tasks?after=0&size=2`,
    `topics/${topic}/tasks/${failed}`,
    `topics/${topic}/tasks/@${ready}`,
    `topics/${topic}/tasks/id:inv-8`,
    `topics/${topic}/tasks/ext:order-9`,
    `topics/${topic}/tasks/${failed}/why`,
    `topics/${topic}/tasks/${ready}/why`,
    `topics/${topic}/tasks/ext:order-9/why`,
    `topics/${topic}/tasks/${failed}/attempts`,
    'errors',
    `errors?topic=${topic}&withinMs=60000`,
    `errors/${fingerprint}`,
    'upcoming',
    `upcoming?topic=${topic}`,
    'nodes',
    `nodes/${encodeURIComponent(owner)}`,
    `nodes/${encodeURIComponent(owner)}/tasks`,
    'timers',
    'timers/system/nightly',
    'changes',
    'audit',
    'examination',
    'find?q=inv-8',
    `find?q=@${failed}`,
    `find?q=${topic.slice(0, 4)}`,
  ]
}

/** Paths of the pages, each page at least once. */
export function pagePaths({ topic, failed, owner, fingerprint }: Scene): readonly string[] {
  return [
    '',
    `topics/${topic}`,
    `topics/${topic}?state=failed`,
    `topics/${topic}/tasks/${failed}`,
    'errors',
    `errors?topic=${topic}`,
    `errors/${fingerprint}`,
    'next',
    `next?topic=${topic}`,
    'nodes',
    `nodes/${encodeURIComponent(owner)}`,
    'timers',
    'timers/system/nightly',
    'changes',
    'changes?hours=2',
    'health',
    'audit',
    'find',
    'find?q=inv-8',
  ]
}
