/** Oracle's dialect, statement by statement and without a server: what these tests say is that it is well-formed, and no more. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromOracledb, oracle } from '@taskstream/task-sql/oracledb'
import oracledb from 'oracledb'
import { beforeAll, describe, expect, test } from 'vitest'
import { toLease } from '../../packages/task-sql/src/core/lease.ts'
import { grantsOf } from '../databases/grants.ts'
import { bindErrors } from '../oracle/binds.ts'
import { check } from '../oracle/check.ts'
import type { Checked } from '../oracle/check.ts'
import { lintErrors, rules } from '../oracle/lint.ts'
import { nameErrors } from '../oracle/names.ts'
import { parseErrors } from '../oracle/parse.ts'
import { Recording } from '../oracle/recording.ts'
import type { Scene } from '../oracle/recording.ts'

/** The grammar is large, and slow until it is warm. */
const patienceMs = 500_000

describe('every statement that the dialect can emit', () => {
  let checked: Checked
  beforeAll(async () => void (checked = await check()), patienceMs)

  test('is one to the grammar, knows its columns, has a value for each place and breaks none of the rules', () => {
    expect(checked.errors).toEqual([])
    expect(checked.counts.parsed).toBeGreaterThan(200)
  })

  test('is in the file that people read', async () => {
    await expect(checked.snapshot).toMatchFileSnapshot('../oracle/statements.sql')
  })

  test('was asked for: each function of the dialect was called, and each verb emitted something', () => {
    const { functions, called, verbs, recorded } = checked
    expect(functions.filter((name) => !called.has(name))).toEqual([])
    // `found` asks nobody. Statistics are Oracle's own affair, and a limit of time is one of the connection.
    expect(verbs.filter((verb) => recorded.every((one) => one.verb !== verb))).toEqual(['found', 'refresh', 'limitStatements'])
  })

  test('that locks what it fetches fetches as many rows as are wanted, and no more', () => {
    const limited = checked.recorded.filter(({ options }) => options.resultSet)
    expect(limited.length).toBeGreaterThan(10)
    for (const { verb, options } of limited) {
      expect(options).toMatchObject({ prefetchRows: options.fetchArraySize })
      if (verb === 'poll') expect(options.fetchArraySize).toBeLessThanOrEqual(1_021)
    }
    // Whatever is polled is limited: the rest of a topic is left to others.
    const polls = checked.recorded.filter(({ verb, text }) => verb === 'poll' && text.includes('skip locked'))
    expect(polls.filter(({ text, options }) => !options.resultSet && !text.includes('json_table'))).toEqual([])
  })
})

test('what the guide of grants has people run is Oracle’s grammar', () => {
  for (const block of ['oracle: administrator', 'oracle: worker'])
    for (const statement of grantsOf(block, {})) expect([statement, ...parseErrors(statement)]).toEqual([statement])
})

test('any number of tasks is the same statement', async () => {
  // Nothing needs them: what needs one is moved by statements of its own.
  const unneeded: Scene = { rows: [[/task_dependency d\s+where d.parent_topic/, 0]] }
  const textsFor = async (count: number): Promise<readonly string[]> => {
    const recording = new Recording()
    recording.scene = unneeded
    const tasks = sqlTaskRepository({ dialect: oracle(), adapter: fromOracledb(oracledb), owner: 'o' })
    const held = Array.from({ length: count }, (_, index): HeldTask => {
      const sequence = index + 1
      return {
        topic: 'mail',
        sequence,
        identifier: `i${index}`,
        lease: toLease(1, 'active'),
        attempt: 1,
        tries: 1,
        priority: 0,
      }
    })
    await tasks.push(
      recording,
      'mail',
      held.map(({ identifier }) => identifier),
    )
    await tasks.complete(recording, 'mail', new Map(held.map((task) => [task, TaskDecision.success('done')])))
    await tasks.complete(
      recording,
      'mail',
      new Map(held.map((task) => [task, TaskDecision.success().withValue('1').withSuccessor({ topic: 'mail', sequence: 9 })])),
    )
    await tasks.endings(recording, [{ topic: 'mail', sequence: 9 }])
    return recording.statements.map(({ text }) => text)
  }
  const one = await textsFor(1)
  expect(one).toHaveLength(9)
  expect(await textsFor(7)).toEqual(one)
  expect(await textsFor(5_000)).toEqual(one)
})

describe('the checks find what is wrong:', () => {
  test.each(rules)('$name', ({ name, bad, find: _find }) => {
    for (const text of bad) expect(lintErrors(text).filter((error) => error.startsWith(name))).toHaveLength(1)
  })

  test('the grammar refuses what is no statement', { timeout: patienceMs }, () => {
    for (const text of [
      'selec t.topic from task t',
      'select t.topic from task t where',
      'select t.topic from task t for update skip lock',
      'select t.topic from task t fetch first rows',
      'insert into task_topic (topic) values :1',
      'merge into task t using r on t.sequence = r.wanted when matched then update set state = 1',
      'delete from task t where t.topic = :1 order by t.sequence',
      'create table task (topic varchar2(250 char) not nul)',
      'begin delete from task end;',
    ])
      expect(parseErrors(text)).not.toEqual([])
  })

  test('names that stand for nothing, or for two things', () => {
    for (const [text, error] of [
      ['select t.nothing from task t', 'ORA-00904'],
      ['select nothing from task t', 'ORA-00904'],
      ['select x.topic from task t', 'ORA-00904'],
      ['select t.topic from task t order by t.nothing', 'ORA-00904'],
      ['select r.topic from (select t.sequence from task t) r', 'ORA-00904'],
      [`select w.topic from json_table(:1, '$[*]' columns (wanted number path '$')) w`, 'ORA-00904'],
      ['insert into task (nothing) values (:1)', 'ORA-00904'],
      ['insert into task (topic) select p.nothing from task_topic p', 'ORA-00904'],
      ['update task t set nothing = 1 where t.topic = :1', 'ORA-00904'],
      ['delete from task t where t.nothing = :1', 'ORA-00904'],
      [
        'merge into task t using (select p.topic from task_topic p) w on (t.topic = w.nothing) when matched then update set state = 1',
        'ORA-00904',
      ],
      ['select topic from task t, task_topic p where t.topic = p.topic', 'ORA-00918'],
      ['select t.topic, p.topic from task t, task_topic p where t.topic = p.topic fetch first 1 rows only', 'ORA-00918'],
      ['select t.topic from tasks_task t', 'ORA-00942'],
      ['select t.topic from task t union all select n.state from task_turn n', 'ORA-00904'],
    ] as const)
      expect(nameErrors(text)).toContainEqual(expect.stringContaining(error))
  })

  test('values that do not go with their places, or that are another value to Oracle', () => {
    const options = { autoCommit: false }
    const wrong = (text: string, binds: readonly unknown[], others = {}): string[] =>
      bindErrors({ verb: 'poll', text, binds, options: { ...options, ...others } })
    const text = 'select t.topic from task t where t.topic = :1'
    const clob = (val: string): object => ({ type: oracledb.DB_TYPE_CLOB, val })
    expect(wrong(text, ['mail'])).toEqual([])
    for (const binds of [
      [],
      ['mail', 'mail'],
      [undefined],
      [true],
      [1n],
      [0.5],
      [2 ** 53],
      [''],
      ['x'.repeat(4_001)],
      [clob('x')],
      ['[""]'],
      ['[[1,""]]'],
    ])
      expect(wrong(text, binds)).not.toEqual([])
    expect(wrong('select t.topic from task t where t.topic = :2', ['mail'])).not.toEqual([])
    expect(wrong(`select t.topic from task t where t.topic = ':1'`, ['mail'])).not.toEqual([])
    expect(wrong('update task t set state = 1 where t.topic = :1 returning t.topic into :2', ['mail', 'x'])).not.toEqual([])
    expect(wrong(text, ['mail'], { autoCommit: true })).not.toEqual([])
    expect(wrong(text, ['mail'], { resultSet: true, prefetchRows: 5, fetchArraySize: 5 })).not.toEqual([])
    expect(wrong(`${text} for update`, ['mail'], { resultSet: true, prefetchRows: 2, fetchArraySize: 5 })).not.toEqual([])
    expect(wrong(`${text} for update`, ['mail'], { resultSet: true, prefetchRows: 5, fetchArraySize: 5 })).toEqual([])
  })
})
