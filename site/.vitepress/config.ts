import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import type { DefaultTheme, MarkdownEnv } from 'vitepress'
import { repository, siteLinks, slugOf } from '../src/links.ts'
import { navigationOf } from '../src/navigation.ts'
import { pages } from '../src/places.ts'

const description = 'Jobs and ordered task streams in the database you already have, from TypeScript.'

/** What is found by the search: all of a document, and names and sentences of the reference, whose tables and signatures would make the index twice as large. */
function searched(source: string, env: MarkdownEnv, markdown: { render(source: string, env: MarkdownEnv): string }): string {
  const isReference = env.relativePath.startsWith('api/')
  return markdown.render(isReference ? source.replaceAll(/^```[^]*?^```$|^\|.*$/gm, '') : source, env)
}

/** A square of the site's colour, so that browsers ask for no file that is not there. */
const icon =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><rect width='8' height='8' rx='2' fill='%230b6b57'/></svg>"

export default defineConfig({
  title: 'taskstream',
  description,
  lang: 'en',
  head: [['link', { rel: 'icon', href: icon }]],
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  // Every static server, and every folder of files, has pages at these names.
  cleanUrls: false,
  ignoreDeadLinks: false,
  metaChunk: true,
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (markdown) => siteLinks(repository)(markdown as never),
    anchor: { slugify: slugOf },
    languageAlias: { console: 'sh' },
  },
  vite: {
    resolve: {
      alias: [
        {
          find: /^.*\/VPSidebarItem\.vue$/,
          replacement: fileURLToPath(new URL('theme/SidebarItem.vue', import.meta.url)),
        },
      ],
    },
    // Only the index of the search is large, and it is loaded by those who search.
    build: { chunkSizeWarningLimit: 4_000 },
  },
  transformPageData: (page) =>
    page.relativePath === 'index.md'
      ? { frontmatter: { ...page.frontmatter, pageClass: 'first', aside: false, prev: false } }
      : {},
  themeConfig: {
    nav: [
      { text: 'Start here', link: '/quick-start', activeMatch: '^/(quick-start|start/)' },
      { text: 'Jobs', link: '/guides/jobs', activeMatch: '^/guides/jobs' },
      { text: 'Operate', link: '/operations', activeMatch: '^/operations' },
      { text: 'Reference', link: '/api/', activeMatch: '^/api/' },
      { text: 'Promises', link: '/guarantees', activeMatch: '^/guarantees' },
    ],
    sidebar: navigationOf(pages) as DefaultTheme.SidebarItem[],
    outline: [2, 3],
    search: { provider: 'local', options: { _render: searched } },
    docFooter: { prev: 'Before', next: 'Next' },
    externalLinkIcon: true,
  },
})
