/** The times of a leader follow from its two intervals, and tables that would have two leaders are refused. */
import { hostname } from 'node:os'
import { systemClock } from '@taskstream/task-processor'
import type { TaskError } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { checkSettings } from '../../packages/task-coordination/src/database-settings.ts'
import { checkLeader, checkTables } from '../../packages/task-coordination/src/leader-options.ts'
import type { LeaderSettings } from '../../packages/task-coordination/src/leader-options.ts'

const repository = { coordination: { takeOver: () => {} } }
const settingsOf = (options: object = {}): LeaderSettings =>
  checkLeader({ groupId: 'g', repository, transactions: () => {}, ...options } as never)

function errorOf(call: () => void): TaskError {
  try {
    call()
  } catch (error) {
    return error as TaskError
  }
  throw new Error('nothing was thrown')
}

describe('the options of a leader', () => {
  test('have defaults, and a name that no other process of this machine has', () => {
    expect(settingsOf()).toEqual({
      member: { groupId: 'g', taskId: `${hostname().slice(0, 200)}:${process.pid}` },
      heartbeatIntervalMs: 1_000,
      patienceMs: 28_000,
      validMs: 27_000,
      lookTimeoutMs: 5_000,
      createTables: true,
      clock: systemClock,
    })
  })

  test.each([
    // A leader gives up before others take over, and a look leaves time for another one.
    [1_000, 100, 800, 700, 266],
    [50, 10, 30, 20, 100],
    [500, 100, 300, 200, 100],
    [86_400_000, 3_600_000, 79_200_000, 75_600_000, 5_000],
  ])(
    'of %d and %d ms give a patience of %d, a leadership of %d and a look of %d',
    (liveness, beat, patienceMs, validMs, look) => {
      const settings = settingsOf({ livenessCheckIntervalMs: liveness, heartbeatIntervalMs: beat })
      expect(settings).toMatchObject({ heartbeatIntervalMs: beat, patienceMs, validMs, lookTimeoutMs: look })
    },
  )

  test.each([
    [{ heartbeatIntervalMs: 9 }, 'heartbeatIntervalMs'],
    [{ heartbeatIntervalMs: 3_600_001, livenessCheckIntervalMs: 86_400_000 }, 'heartbeatIntervalMs'],
    [{ livenessCheckIntervalMs: 86_400_001 }, 'livenessCheckIntervalMs'],
    [{ livenessCheckIntervalMs: 49, heartbeatIntervalMs: 10 }, 'livenessCheckIntervalMs'],
    [{ livenessCheckIntervalMs: 499, heartbeatIntervalMs: 100 }, 'livenessCheckIntervalMs'],
    [{ taskId: 'x'.repeat(256) }, 'taskId'],
    [{ clock: {} }, 'clock.monotonicMs'],
    [{ clock: { monotonicMs: () => 0 } }, 'clock.after'],
    [{ close: 'x' }, 'close'],
    [{ repository: {} }, 'repository.coordination.takeOver'],
    [{ repository: null }, 'repository.coordination.takeOver'],
    [{ transactions: null }, 'transactions'],
  ])('%o are refused', (options, argument) => {
    expect(errorOf(() => settingsOf(options))).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument } })
  })
})

describe('the tables of a group', () => {
  const tables = { found: true, isKeyed: true, idLength: 255, resolutionMs: 0 }

  test('need keys, ids that are long enough, and heartbeats that can be told apart', () => {
    const settings = settingsOf({ groupId: 'group', taskId: 'node' })
    expect(() => checkTables(settings, tables)).not.toThrow()
    expect(errorOf(() => checkTables(settings, { ...tables, isKeyed: false })).code).toBe('SCHEMA_MISSING')
    expect(() => checkTables(settings, { ...tables, idLength: 5 })).not.toThrow()
    expect(errorOf(() => checkTables(settings, { ...tables, idLength: 4 }))).toMatchObject({
      code: 'ARGUMENT_INVALID',
      data: { argument: 'groupId' },
    })
  })

  test.each([
    [4_999, 1_000, false],
    [5_000, 1_000, true],
    [4_999, 999, true],
    [1_000, 0, true],
  ])('may have an interval of %d ms if heartbeats are kept by %d ms: %s', (livenessCheckIntervalMs, resolutionMs, fits) => {
    const settings = settingsOf({ livenessCheckIntervalMs, heartbeatIntervalMs: 100 })
    const check = (): void => checkTables(settings, { ...tables, resolutionMs })
    if (fits) expect(check).not.toThrow()
    else expect(errorOf(check)).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'livenessCheckIntervalMs' } })
  })
})

test('settings of a database are checked, and no value of them is shown', () => {
  for (const settings of [{}, { port: 1 }, { port: 65_535, host: 'h', user: 'u', password: 'p', database: 'd' }])
    expect(() => checkSettings(settings)).not.toThrow()
  for (const port of [0, 65_536]) expect(errorOf(() => checkSettings({ port })).data).toMatchObject({ argument: 'port' })
  const misspelt = errorOf(() => checkSettings({ passwort: 'correct-horse' } as object))
  expect(misspelt).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'passwort' } })
  expect(`${misspelt.message} ${JSON.stringify(misspelt.data)}`).not.toContain('correct-horse')
})
