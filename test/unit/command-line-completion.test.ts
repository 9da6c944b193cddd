/** A line is split for its completion as a shell splits it. */
import { expect, test } from 'vitest'
import { wordsOf } from '../../packages/task-cli/src/core/complete.ts'

test.each([
  ['', ['']],
  ['taskstream', ['taskstream']],
  ['taskstream ', ['taskstream', '']],
  ['taskstream  ls\tin', ['taskstream', 'ls', 'in']],
  ["taskstream ls 'two wo", ['taskstream', 'ls', 'two wo']],
  ['taskstream ls "two words" --st', ['taskstream', 'ls', 'two words', '--st']],
  [String.raw`taskstream ls two\ wo`, ['taskstream', 'ls', 'two wo']],
  [String.raw`taskstream ls 'a\b'`, ['taskstream', 'ls', String.raw`a\b`]],
  [String.raw`taskstream ls "it's" a\'`, ['taskstream', 'ls', "it's", "a'"]],
  ['taskstream ls \\', ['taskstream', 'ls', '\\']],
])('%j', (line, words) => {
  expect(wordsOf(line)).toEqual(words)
})
