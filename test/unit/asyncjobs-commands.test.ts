/** The guide names, for each command and feature of asyncjobs, a test that there is, or a reason. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const guides = join(import.meta.dirname, '..', '..', 'docs', 'guides')
const [, section = ''] = /\n## The command line\n([^]*?)\n## /.exec(readFileSync(join(guides, 'asyncjobs.md'), 'utf8')) ?? []
const rows = section
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(2)
  .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '').trim()))

const options = [
  'context',
  'debug',
  'sign',
  'verify',
  'deadline',
  'tries',
  'depends',
  'load',
  'memory',
  'replicas',
  'task',
  'remote',
  'monitor',
  'discard-complete',
  'discard-expired',
  'backoff',
  'age',
  'entries',
  'run-time',
  'concurrent',
  'discard-old',
  'names',
  'payload',
]

/** All that the command line of asyncjobs has: each is in the first cell of a row. */
const commands = [
  ...['add', 'retry', 'view', 'delete', 'list', 'purge', 'initialize', 'configure', 'watch', 'process'].map(
    (name) => `tasks ${name}`,
  ),
  ...['new', 'list', 'delete', 'purge', 'info', 'configure'].map((name) => `queues ${name}`),
  ...['add', 'view', 'delete', 'scheduler'].map((name) => `cron ${name}`),
  'info',
  'package docker',
  'server run',
  ...options.map((name) => `--${name}`),
]

describe('the table of the commands of asyncjobs', () => {
  test('leaves out no command and no option', () => {
    const first = rows.map(([name = '']) => name).join('\n')
    expect(commands.filter((name) => !first.includes(name))).toEqual([])
    expect(rows.every((cells) => cells.length === 3)).toBe(true)
  })

  test.each(rows)('%s is tested where the row says, or is not there for a reason', (_name, ours = '', tested = '') => {
    const [, title, path = ''] = /^\[(.+)\]\((\S+)\)$/.exec(tested) ?? []
    if (title === undefined) return expect([ours, tested]).toEqual(['–', expect.stringMatching(/^Not built: .+\.$/)])
    const file = join(guides, path)
    expect(existsSync(file), path).toBe(true)
    // As the whole title of a test, so that a part of another one does not count.
    expect(readFileSync(file, 'utf8').includes(`('${title}', `), `${path}: ${title}`).toBe(true)
  })
})
