/** What is in the navigation of the site is what is in docs/. */
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { outside } from '../../site/src/links.ts'
import { navigationOf } from '../../site/src/navigation.ts'
import type { Entry } from '../../site/src/navigation.ts'
import { docs, root } from '../../site/src/places.ts'

const links = (entries: readonly Entry[]): string[] =>
  entries.flatMap(({ link, items = [] }) => [...(link === undefined ? [] : [link]), ...links(items)])

test('the navigation leads to each page once', () => {
  const pages = globSync('**/*.md', { cwd: docs }).map(
    (path) =>
      `/${path
        .replaceAll('\\', '/')
        .slice(0, -3)
        .replace(/(^|\/)index$/, '$1')}`,
  )
  expect(links(navigationOf(docs)).toSorted()).toEqual(pages.toSorted())
})

test('a page that is new is in the group of its folder, and a new folder is a group', () => {
  const folder = mkdtempSync(join(tmpdir(), 'taskstream-pages-'))
  try {
    cpSync(docs, folder, { recursive: true })
    const write = (path: string, text: string): void => {
      mkdirSync(join(folder, path, '..'), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    write('recipes/new.md', '# An *outbox* that is new\n')
    write('coming-from/new.md', '# From `new-queue`\n')
    write('guides/new.md', '# A new guide\n')
    write('field-notes/first.md', '# The first note\n')
    const group = (text: string): readonly Entry[] => navigationOf(folder).find((entry) => entry.text === text)?.items ?? []
    expect(group('Recipes')).toContainEqual({ text: 'An outbox that is new', link: '/recipes/new' })
    expect(group('Coming from elsewhere')).toContainEqual({ text: 'From new-queue', link: '/coming-from/new' })
    expect(group('Write').at(-1)).toEqual({ text: 'A new guide', link: '/guides/new' })
    expect(group('Field notes')).toEqual([{ text: 'The first note', link: '/field-notes/first' }])
    write('recipes/untitled.md', 'No heading\n')
    expect(() => navigationOf(folder)).toThrow(/untitled\.md has no title/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a link out of the pages is one to a file of the repository', () => {
  const missing: string[] = []
  for (const page of globSync('**/*.md', { cwd: docs }))
    for (const [, href = ''] of readFileSync(join(docs, page), 'utf8').matchAll(/\]\(([^)\s]+)\)/g)) {
      const path = outside(page.replaceAll('\\', '/'), href)
      if (path !== undefined && !existsSync(join(root, path))) missing.push(`${page}: ${href}`)
    }
  expect(missing).toEqual([])
  expect(outside('decisions/house.md', '../../CONTRIBUTING.md')).toBe('CONTRIBUTING.md')
  expect(outside('guides/jobs.md', 'topics.md#identifiers')).toBeUndefined()
})
