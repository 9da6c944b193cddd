/** The pages of the console over the large database. */
import { taskConsole } from '@taskstream/task-console'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { AnyTransaction, Subject, Tasks } from '../subject.ts'

export interface PageAsked {
  readonly name: string
  readonly ask: () => Promise<string | void>
}

/** Pages with how they are asked: what is wrong with an answer is told. */
export function pagesOf(subject: Subject, tasks: Tasks): readonly PageAsked[] {
  const console = taskConsole({
    repository: tasks as unknown as SqlTaskRepository<AnyTransaction>,
    transactions: subject.transactions,
    authorize: () => ({ name: 'kari', role: 'admin' }),
  })
  const paths = [
    '',
    'topics/plain',
    'topics/plain?state=failed',
    'topics/plain/tasks/1',
    'errors?topic=plain',
    'next?topic=plain',
    'nodes',
    'timers',
    'audit',
    'find?q=@1',
  ]
  return paths.map((path) => ({
    name: `page /${path}`,
    ask: async () => {
      const { status } = await console.fetch(new Request(`http://ops.example/${path}`))
      return status === 200 ? undefined : `status ${status}`
    },
  }))
}
