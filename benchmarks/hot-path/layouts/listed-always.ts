/** D: `listed` means READY. One index entry comes and goes with the claim; completion is HOT. Nothing to remember. */
import type { Claim, Layout } from './layout.ts'
import { createTables, sequencesOf } from './layout.ts'
import { complete, completeStatement, endless, pushStatement, resetStatement, run, sorted } from './statements.ts'

const name = 'listed-always'
const push = pushStatement(name, { xidFirst: false, listed: true })
const completion = completeStatement(name, { unlist: false })
const reset = resetStatement(name, { list: true })
const poll = {
  name: `${name} poll`,
  text: `
    with f as materialized (
      select ctid from task where topic = $1 and listed and state = 1 and sequence > 0 and sequence <= ${endless}
       order by sequence limit $2 for update skip locked)
    update task as t
       set state = 0, listed = false, owner = $3, attempt = attempt + 1, tries = tries + 1, started = statement_timestamp()
     where t.ctid = any(array(select ctid from f)) and t.state + 0 = 1
    returning t.sequence, t.attempt, t.identifier, t.input`,
}
const expire = {
  name: `${name} expire`,
  // No index finds ACTIVE rows here: the whole topic is read.
  text: `
    with held as materialized (
      select sequence from task where topic = $1 and state = 0 and owner = $2 order by sequence for update)
    update task as t set state = 1, listed = true, owner = null, started = null
      from held where t.topic = $1 and t.sequence = held.sequence
    returning t.sequence`,
}

export const listedAlways: Layout = {
  name,
  note: 'index (topic, sequence) where listed, listed = READY, fillfactor 45',
  schema: [...createTables({ fillfactor: 45 }), 'create index task_listed on task (topic, sequence) where listed'],
  push: async (client, topic, identifiers, inputs) => sequencesOf(await run(client, push, [topic, identifiers, inputs])),
  createPoller: (topic) => ({
    poll: async (client, size, owner) => sorted((await run<Claim>(client, poll, [topic, size, owner])).rows),
  }),
  complete: (client, topic, owner, completions) => complete(client, completion, topic, owner, completions),
  reset: async (client, topic, sequences) => sequencesOf(await run(client, reset, [topic, sequences])),
  expire: async (client, topic, owner) => sequencesOf(await run(client, expire, [topic, owner])),
}
