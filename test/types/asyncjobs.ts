/** The types of tasks in the words of asyncjobs: what a handler gets, and what its commit is given. */
import { DatabaseSync } from 'node:sqlite'
import { asyncJobs, newTask, TaskRouter } from 'taskstream/asyncjobs'
import type { Task, TaskHandler, TaskMiddleware } from 'taskstream/asyncjobs'
import { taskstream } from 'taskstream/node-sqlite'

const client = asyncJobs(taskstream(new DatabaseSync(':memory:')))
const timed: TaskMiddleware<DatabaseSync> = (next) => async (task, context) => next(task, context)
const anywhere: TaskHandler<unknown> = ({ id }, { signal }) => [id, signal.aborted]

export async function rightUse(): Promise<void> {
  const task: Task = await client.enqueueTask(newTask('email', { to: 'ann' }, { maxTries: 3 }))
  task.result?.payload satisfies unknown
  task.json<{ to: string }>() satisfies { to: string } | undefined
  const router = client.newTaskRouter().use(timed)
  router.handleFunc('email', (_, { commit }) => commit((database) => database.exec('delete from cart')), timed)
  await client.run(router, { stopOn: ['SIGTERM'] })
  new TaskRouter().handleFunc('', anywhere)
}

export async function mistakes(): Promise<void> {
  // @ts-expect-error a task has no such option
  newTask('email', null, { maxTry: 3 })
  // @ts-expect-error a task is made by newTask
  await client.enqueueTask({ type: 'email' })
  // @ts-expect-error a transaction is a connection
  client.newTaskRouter().handleFunc('email', (_, { commit }) => commit((database) => database.query('delete from cart')))
  // @ts-expect-error a middleware is given a handler
  client.newTaskRouter().use((task: Task) => task)
  // @ts-expect-error a queue has no priorities
  asyncJobs(taskstream(new DatabaseSync(':memory:')), { queue: { name: 'A', priority: 7 } })
}
