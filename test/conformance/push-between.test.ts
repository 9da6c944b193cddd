/** Pushes that draw their sequences at the same time report for each task its own sequence. */
import type { PushedTask, TaskCreation, TaskInfo } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Session } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { useFixture } from '@taskstream/task-testing/suite'

const size = 2_000

/** Two pushes that begin together draw their sequences at the same time in one of very few rounds. */
const rounds = 100

describe.skipIf(!canRun)('a push whose sequences have others between them', () => {
  const fixture = useFixture(engine)

  test('and one whose sequences are in a row tell each task its own, however many they are', async () => {
    const { tasks, topic, commit } = fixture
    for (const count of [1, 19, 20, 21, 200]) {
      const identifiers = Array.from({ length: count }, (_, index) => `${count}-${index}`)
      const pushed = await commit(async (transaction) => {
        const first = (await tasks.push(transaction, topic, identifiers)) as PushedTask[]
        await tasks.push(transaction, topic, 'between')
        return [...first, ...((await tasks.push(transaction, topic, identifiers)) as PushedTask[])]
      })
      expect(pushed.map(({ identifier }) => identifier)).toEqual([...identifiers, ...identifiers])
      for (const { sequence, identifier } of [pushed[0]!, pushed[count - 1]!, pushed[count]!, pushed.at(-1)!])
        expect(await commit((transaction) => tasks.task(transaction, topic, sequence) as unknown)).toMatchObject({ identifier })
    }
  })

  const each: readonly (readonly [string, (identifier: string) => TaskCreation])[] = [
    ['plain', (identifier) => ({ identifier })],
    ['of more than that', (identifier) => ({ identifier, externalId: identifier, priority: 1 })],
  ]
  for (const [kind, creationOf] of each) {
    testOn(['postgres', 'mariadb', 'mysql'])(`tells each task its own: ${kind}`, async () => {
      const sessions: Session[] = [await fixture.subject.session(), await fixture.subject.session()]
      const pushFrom = async (session: Session, name: string): Promise<PushedTask[]> => {
        await session.begin()
        const creations = Array.from({ length: size }, (_, index) => creationOf(`${name}-${index}`))
        const pushed = await (fixture.tasks.push(session.transaction, fixture.topic, creations) as Promise<PushedTask[]>)
        await session.commit()
        return pushed
      }
      let between = false
      for (let round = 0; !between; round++) {
        if (round === rounds) throw new Error(`The sequences of two pushes were in a row in each of ${rounds} rounds`)
        const pushes = await Promise.all(sessions.map((session, index) => pushFrom(session, `${round}-${index}`)))
        for (const pushed of pushes) {
          between ||= pushed.at(-1)!.sequence - pushed[0]!.sequence >= size
          const rows = await fixture.commit<TaskInfo[]>((transaction) =>
            fixture.tasks.page(transaction, fixture.topic, {
              from: pushed[0]!.sequence,
              to: pushed.at(-1)!.sequence,
              size: 3 * size,
            }),
          )
          const prefix = pushed[0]!.identifier.slice(0, -1)
          const own = rows.filter(({ identifier }) => identifier.startsWith(prefix))
          const told = ({ sequence, identifier }: { sequence: number; identifier: string }): string => `${sequence} ${identifier}`
          expect(pushed.map(told)).toEqual(own.map(told))
          expect(own).toHaveLength(size)
        }
      }
      await Promise.all(sessions.map((session) => session.close()))
    })
  }
})
