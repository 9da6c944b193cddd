/** A listener that fails disturbs nobody: its error becomes a warning of the process. */
import type { TaskListener } from '@taskstream/task-processor'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { safeListener } from '../../packages/task-processor/src/core/listener.ts'

const names = Object.keys(safeListener({})) as (keyof TaskListener)[]

describe('a listener', () => {
  let warnings: string[]
  const printing = process.listeners('warning')
  const collect = ({ message }: Error): void => void warnings.push(message)
  beforeEach(() => {
    warnings = []
    process.removeAllListeners('warning')
    process.on('warning', collect)
  })
  afterEach(() => {
    process.removeListener('warning', collect)
    for (const print of printing) process.on('warning', print)
  })

  test('has fourteen events', () => {
    expect(names).toHaveLength(14)
  })

  test('is one of several, which all get each event, and of which the first answers', () => {
    const heard: string[] = []
    const listening = (name: string, answer?: string): TaskListener => ({
      onStart: () => {
        heard.push(name)
        return answer
      },
    })
    const listener = safeListener(listening('silent'), listening('first', 'trace'), listening('second', 'other'), {})
    expect(listener.onStart({ topic: 'a', tasks: [] })).toBe('trace')
    expect(heard).toEqual(['silent', 'first', 'second'])
  })

  test.each(names)('that throws in %s, or whose promise rejects, is warned of', async (name) => {
    const fail = (): never => {
      throw new Error('of the listener')
    }
    const call = (listener: TaskListener): unknown => (safeListener(listener)[name] as (event: object) => unknown)({})
    expect(call({ [name]: fail })).toBeUndefined()
    await expect(call({ [name]: async () => fail() })).rejects.toThrow('of the listener')
    await expect
      .poll(() => warnings.map((warning) => warning.split('\n')[0]))
      .toEqual([
        `A task listener's ${name} threw: Error: of the listener`,
        `A task listener's ${name} threw: Error: of the listener`,
      ])
  })
})
