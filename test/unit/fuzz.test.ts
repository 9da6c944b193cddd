/**
 * Whatever a public entry is given, it does its work or throws an error of the product's own, soon and before it has written. `npm run fuzz` draws many
 * more cases. A failure prints its seed and its smallest case; TASKSTREAM_SEED draws the same cases again.
 */
import { expect, test } from 'vitest'
import { entries, fuzzEntry } from '../fuzz/entries.ts'
import { amountOf } from '../tiers.ts'

const seed = Number(process.env['TASKSTREAM_SEED'] ?? Math.trunc(Math.random() * 2 ** 31))

test.for(Object.keys(entries))('of the entry %s only named errors come out, whatever goes in', async (name) => {
  const failures: string[] = []
  for await (const { name: call, failure } of fuzzEntry(name, amountOf('fuzz'), seed))
    if (failure !== undefined) failures.push(`${call}: ${failure}`)
  expect(failures).toEqual([])
})
