/** Where the site and what it is made of are. */
import { join } from 'node:path'

export const site: string = join(import.meta.dirname, '..')
export const root: string = join(site, '..')
export const docs: string = join(root, 'docs')
/** The markdown of docs/ and of the reference, copied: bundlers look for Vue beside the pages, and there is none beside docs/. */
export const pages: string = join(site, 'pages')
export const built: string = join(site, 'dist')
/** References that were made of sources, by what the sources were. */
export const cache: string = join(site, 'node_modules', '.cache', 'reference')
