/** The reference of every package's entries, as markdown, from what is written above their declarations. */
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdtempSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { Application, Comment, ReflectionKind, TSConfigReader } from 'typedoc'
import type { DeclarationReflection, ProjectReflection } from 'typedoc'
import { cache, root, site } from './places.ts'

interface Manifest {
  readonly name: string
  readonly description?: string
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>> | string>>
}

interface PackageEntry {
  /** What is imported, such as `taskstream/pg`. */
  readonly name: string
  readonly file: string
  /** What the package is for, at its first entry. */
  readonly description: string
}

/** Lower packages come first: what several entries export is described where it comes from. */
const packages = [
  'task-api',
  'task-timers',
  'task-sql',
  'task-processor',
  'task-scheduler',
  'task-jobs',
  'task-coordination',
  'task-operations',
  'task-console',
  'task-telemetry',
  'task-testing',
  'taskstream',
]

/** @returns each entry that the packages export, as the file of its source */
export function entriesOf(): PackageEntry[] {
  return packages.flatMap((folder) => {
    const path = join(root, 'packages', folder)
    const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest
    return Object.entries(manifest.exports ?? {}).flatMap(([entry, conditions]) => {
      const source = typeof conditions === 'string' ? undefined : conditions['@taskstream/source']
      if (source === undefined) return []
      const isFirst = entry === '.'
      const name = isFirst ? manifest.name : manifest.name + entry.slice(1)
      return [{ name, file: join(path, source), description: isFirst ? (manifest.description ?? '') : '' }]
    })
  })
}

/** @returns what tells one state of the sources and of this file from another */
function fingerprint(): string {
  const hash = createHash('sha256')
  const files = ['packages/*/src/**/*.ts', 'packages/*/package.json', 'site/src/reference.ts', 'site/pnpm-lock.yaml']
  for (const file of globSync(files, { cwd: root }).toSorted())
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(root, file)))
  return hash.digest('hex').slice(0, 16)
}

/** What an entry exports again is a list of links, not a heading for each. */
function gatherReferences(project: ProjectReflection, module: DeclarationReflection, description: string): void {
  const references = (module.children ?? []).filter((child) => child.isReference())
  const targets = references.flatMap((reference) => {
    const target = reference.isReference() ? reference.tryGetTargetReflectionDeep() : undefined
    return target === undefined ? [] : [target]
  })
  for (const reference of references) project.removeReflection(reference)
  // The plugin would still write a section of them.
  if (module.groups) module.groups = module.groups.filter(({ title }) => title !== 'References')
  module.comment ??= new Comment()
  const { summary } = module.comment
  if (summary.length === 0 && description) summary.push({ kind: 'text', text: description })
  if (targets.length === 0) return
  const links = targets
    .toSorted((one, other) => one.name.localeCompare(other.name, 'en'))
    .flatMap((target, index) => [
      { kind: 'text' as const, text: index === 0 ? '' : ', ' },
      { kind: 'inline-tag' as const, tag: '@link' as const, text: target.name, target },
    ])
  const head = `\n\n<details><summary>${targets.length} names of other entries, which it exports too</summary>\n\n`
  summary.push({ kind: 'text', text: head }, ...links, { kind: 'text', text: '\n\n</details>' })
}

async function generate(folder: string): Promise<void> {
  const entries = entriesOf()
  const app = await Application.bootstrapWithPlugins(
    {
      entryPoints: entries.map(({ file }) => file),
      tsconfig: join(site, 'tsconfig.reference.json'),
      plugin: ['typedoc-plugin-markdown'],
      name: 'Reference',
      readme: 'none',
      excludePrivate: true,
      excludeInternal: true,
      excludeExternals: true,
      disableGit: true,
      sourceLinkTemplate: 'none',
      outputs: [{ name: 'markdown', path: folder }],
      sort: ['alphabetical'],
      groupOrder: ['Functions', 'Classes', 'Interfaces', 'Type Aliases', 'Variables'],
      logLevel: 'Warn',
      validation: false,
      skipErrorChecking: true,
      // What the markdown plugin reads.
      ...({
        router: 'module',
        hidePageHeader: true,
        hideBreadcrumbs: true,
        hideGroupHeadings: false,
        entryFileName: 'index',
        modulesFileName: 'modules',
        useCodeBlocks: true,
        // Its own count of headings of one name is not that of the site.
        useHTMLAnchors: true,
        anchorPrefix: 'to-',
        expandObjects: true,
        parametersFormat: 'table',
        interfacePropertiesFormat: 'table',
        typeAliasPropertiesFormat: 'table',
        enumMembersFormat: 'table',
        classPropertiesFormat: 'table',
        formatWithPrettier: false,
      } as object),
    },
    [new TSConfigReader()],
  )
  const project = await app.convert()
  if (!project) throw new Error('TypeDoc could not read the packages')
  const byFile = new Map(entries.map((entry) => [entry.file, entry]))
  for (const module of project.getChildrenByKind(ReflectionKind.Module)) {
    const file = module.sources?.[0]?.fullFileName ?? ''
    const entry = byFile.get(file)
    if (!entry) throw new Error(`TypeDoc made a module of ${relative(root, file)}, which is no entry of a package`)
    module.name = entry.name
    gatherReferences(project, module, entry.description)
  }
  for (const reflection of Object.values(project.reflections)) {
    // A parameter that is taken apart at once has no name of its own.
    if (reflection.name === '__namedParameters') reflection.name = 'options'
    if (reflection.isDeclaration() || reflection.isSignature()) {
      // A table would have a column for where a member was declared first, which fills pages and helps nobody who uses it.
      delete reflection.inheritedFrom
      delete reflection.implementationOf
      delete reflection.overwrites
    }
  }
  // Sources were needed to know the modules. The repository has no address that a link to a source could lead to.
  app.options.setValue('disableSources', true)
  await app.generateOutputs(project)
}

/**
 * Makes the reference, unless it has been made of the same sources before.
 *
 * @returns the folder with its markdown
 * @throws Error if an entry cannot be read
 */
export async function reference(): Promise<string> {
  const folder = join(cache, fingerprint())
  if (existsSync(folder)) return folder
  rmSync(cache, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true })
  const made = mkdtempSync(join(cache, 'made-'))
  await generate(made)
  renameSync(made, folder)
  return folder
}
