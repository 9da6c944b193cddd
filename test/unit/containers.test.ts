/** The command line of `test:containers` names the right image and kind of database, and a failed fetch of an image is an error. */
import { PassThrough, Readable, addAbortSignal } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { parse } from '../containers/command-line.ts'
import { engines } from '../containers/engines.ts'
import { showProgress } from '../containers/progress.ts'

describe('what is run in a container', () => {
  test.each([
    ['postgres:16', 'postgres:16', 'postgres'],
    ['postgres', 'postgres:17', 'postgres'],
    ['mysql', 'mysql:8.4', 'mysql'],
    ['mariadb', 'mariadb:11.8', 'mariadb'],
    ['mariadb:11.4-noble', 'mariadb:11.4-noble', 'mariadb'],
    ['oracle-free', 'gvenzl/oracle-free:23-slim-faststart', 'oracle'],
  ])('--engine %s is the image %s', (engine, image, kind) => {
    expect(parse(['--engine', engine])).toEqual({ image, kind, rest: [] })
    expect(parse([`--engine=${engine}`])).toEqual({ image, kind, rest: [] })
  })

  test('any image is taken, once its kind is told', () => {
    const image = 'registry.example:5000/ours/postgres:17@sha256:0a'
    expect(parse(['--image', image, '--kind', 'postgres'])).toEqual({ image, kind: 'postgres', rest: [] })
  })

  test('what else is said is for vitest, in its order', () => {
    const rest = ['--project', 'postgres-partitioned', 'test/conformance/poll.test.ts', '-t', 'late commit', '--bail=1']
    expect(parse([...rest.slice(0, 2), '--engine', 'postgres', ...rest.slice(2)]).rest).toEqual(rest)
  })

  test.each([['mongo'], ['toString'], [''], ['postgres:'], [':17']])(
    'no such engine as "%s": the known ones are told',
    (engine) => {
      for (const known of Object.keys(engines)) expect(() => parse(['--engine', engine])).toThrow(known)
    },
  )

  test.each([
    [[]],
    [['--image', 'postgres:17']],
    [['--kind', 'postgres']],
    [['--image', 'a', '--kind', 'mongo']],
    [['--image', '', '--kind', 'postgres']],
    [['--engine', 'postgres', '--image', 'a', '--kind', 'postgres']],
  ])('%j says how it is asked', (args) => {
    expect(() => parse(args)).toThrow(/--engine NAME\[:TAG\][^]*postgres\|mysql\|mariadb\|oracle/)
  })
})

describe('an image that is fetched', () => {
  test('fails with what Docker says at last, whatever its answer is cut into', async () => {
    const said = '{"id":"a","status":"Downloading","progressDetail":{"current":1,"total":2}}\r\n{"error":"manifest unknown"}\r\n'
    await expect(showProgress('postgres:0', Readable.from([...said], { objectMode: false }))).rejects.toThrow('manifest unknown')
  })

  test('is waited for no longer than it is wanted', async () => {
    const stopping = new AbortController()
    const fetched = showProgress('postgres:0', addAbortSignal(stopping.signal, new PassThrough()))
    stopping.abort()
    await expect(fetched).rejects.toThrow(/aborted/)
  })
})
