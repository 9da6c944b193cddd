/**
 * Prints what jobs and typed topics cost the compiler: `npm run check:type-cost`. A program defines, pushes and handles 1, 100 and 400 of them. The run fails if a job
 * costs too much, or if jobs cost more the more there are.
 */
import Table from 'cli-table3'
import { compile } from '../compile.ts'

const mostPerJob = 600
const mostGrowth = 0.1

/** The text of a job, its push and its handler. The number of the next job is undefined for the last. */
type Shape = (own: number, next: number | undefined) => string

const options = (own: number): string => `input: json<{ to: string; count${own}: number }>(), key: ({ to }) => to`
const given = (own: number): string => `{ to: 'a', count${own}: 1 }`

const shapes: Readonly<Record<string, Shape>> = {
  alone: (own) => `
const job${own} = defineJob('job-${own}', { ${options(own)} })
await stream.push(tx, job${own}, ${given(own)}, { priority: 1 })
stream.handle(job${own}, ({ input, commit }) => commit(async (tx) => tx.write(input.count${own})))
`,
  chain: (own, next) => `
const job${own} = defineJob('job-${own}', { ${options(own)}${next === undefined ? '' : `, next: [job${next}]`} })
await stream.push(tx, job${own}, ${given(own)}, { priority: 1 })
stream.handle(job${own}, ({ input, commit, next }) => commit(async (tx) => {
  await tx.write(input.count${own})
  ${next === undefined ? '' : `return next(job${next}, ${given(next)})`}
}))
`,
  'typed topic': (own) => `
const topic${own} = defineTopic('topic-${own}', { ${options(own)} })
await stream.topic(topic${own}).push(tx, [${given(own)}], { insertion: 'supersede' })
stream.topic(topic${own}).process({ handler: (_, { complete }) => complete(async (tx, held) => {
  for (const { input } of held) await tx.write(input.count${own})
}) })
`,
}

const prelude = `
import { defineJob, defineTopic, json } from 'taskstream'
import type { Stream } from 'taskstream'
interface Transaction { write(count: number): Promise<void> }
declare const stream: Stream<Transaction>
declare const tx: Transaction
`

/** The instantiations of a program with so many jobs. A job is defined after the one that it names. */
function cost(shape: Shape, jobs: number): number {
  const texts = Array.from({ length: jobs }, (_, index) => shape(index, index === 0 ? undefined : index - 1))
  const { messages, instantiations } = compile([prelude + texts.join('')])
  for (const lines of messages.flat()) throw new Error(`${jobs} jobs do not compile: ${lines.join('\n')}`)
  return instantiations
}

const table = new Table({
  head: ['jobs', 'for 1', 'for 100', 'for 400', 'a job, 1 to 100', 'a job, 100 to 400', 'growth'],
  style: { head: [], border: [] },
})
for (const [name, shape] of Object.entries(shapes)) {
  const [one, hundred, all] = [cost(shape, 1), cost(shape, 100), cost(shape, 400)]
  const [first, later] = [(hundred - one) / 99, (all - hundred) / 300]
  const growth = later / first - 1
  table.push([name, one, hundred, all, first.toFixed(1), later.toFixed(1), `${(growth * 100).toFixed(1)} %`])
  if (Math.max(first, later) > mostPerJob || growth > mostGrowth) process.exitCode = 1
}
console.log(`Instantiations, of which a job may cost ${mostPerJob} and grow by ${mostGrowth * 100} %:`)
console.log(table.toString())
if (process.exitCode) console.error('Jobs cost the compiler too much.')
