/** Nodes of a group under random pauses, partitions and lost answers: one leads at a time, and no term is anybody else's. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryGroup } from '../coordination/memory-group.ts'
import type { MemoryGroup, MemoryNode } from '../coordination/memory-group.ts'

const seed = process.env['TASKSTREAM_SEED']
const nodes = ['a', 'b', 'c'] as const

type Step =
  | { readonly do: 'pause' | 'resume' | 'away' | 'back' | 'unanswered' | 'write' | 'write as before'; readonly node: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'delete leader' | 'delete heartbeats' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('pause', 'resume', 'away', 'back', 'unanswered', 'write', 'write as before'),
      node: fc.nat(nodes.length - 1),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.constantFrom(50, 100, 300, 700, 1_000, 2_500) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('delete leader', 'delete heartbeats') }) },
)

async function take(group: MemoryGroup, members: readonly MemoryNode[], known: number[], step: Step): Promise<void> {
  if (step.do === 'pass') return group.pass(step.ms)
  if (step.do === 'delete leader') group.rows = { ...group.rows, token: undefined }
  else if (step.do === 'delete heartbeats') group.rows = { ...group.rows, beats: {} }
  else if ('node' in step) {
    const node = members[step.node]!
    if (step.do === 'pause') node.pause()
    else if (step.do === 'resume') node.resume()
    else if (step.do === 'away') node.isAway = true
    else if (step.do === 'back') node.isAway = false
    else if (step.do === 'unanswered') node.isUnanswered = true
    else {
      known[step.node] = step.do === 'write' ? (node.leader.term ?? known[step.node]!) : known[step.node]!
      await node.write(known[step.node]!).catch(() => {})
    }
  }
  await group.quiet()
}

function isInOrder(terms: readonly number[]): boolean {
  return terms.every((term, index) => index === 0 || terms[index - 1]! <= term)
}

test('of the nodes of a group one leads at a time, terms grow, and each is of one node', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: 'max' }), async (steps) => {
      const group = memoryGroup()
      const members = nodes.map((taskId) => group.node(taskId))
      for (const { leader } of members) await leader.start()
      const known = [1, 1, 1]
      let isDeleted = false
      for (const one of steps) {
        isDeleted ||= one.do === 'delete leader' || one.do === 'delete heartbeats'
        await take(group, members, known, one)
        const leading = members.flatMap(({ leader }) => leader.term ?? [])
        // Whoever deletes rows makes others lead at once, before the leader learns of it.
        if (!isDeleted) expect(leading.length).toBeLessThan(2)
      }
      // Without the leader's row nobody knows the terms of nodes that are away.
      const written = steps.some((one) => one.do === 'delete leader') ? [] : group.rows.written
      expect(isInOrder(written.map(({ term }) => term))).toBe(true)
      const byTerm = Map.groupBy(written, ({ term }) => term)
      for (const [, lines] of byTerm) expect(new Set(lines.map(({ taskId }) => taskId)).size).toBe(1)
      // When all is well again, one of them leads.
      for (const node of members) {
        node.isAway = false
        node.isUnanswered = false
        node.resume()
      }
      await group.pass(3_000)
      expect(members.flatMap(({ leader }) => leader.term ?? [])).toHaveLength(1)
      await Promise.all(members.map(({ leader }) => leader.stop({ graceMs: 0 })))
    }),
    { numRuns: Number(process.env['TASKSTREAM_RUNS'] ?? 300), ...(seed !== undefined && { seed: Number(seed) }) },
  )
})
