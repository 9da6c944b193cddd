/** Processes, and one of them. */
import type { HeldInfo, NodeTopic, NodeTrouble } from '@taskstream/task-api'
import { html } from 'hono/html'
import * as z from 'zod'
import { topicFilter } from '../api/parameters.ts'
import { readHeld, readNode, readNodes } from '../api/nodes.ts'
import type { NodeAnswer } from '../api/nodes.ts'
import { read } from '../api/route.ts'
import type { Asked, Given } from '../api/route.ts'
import { segment } from '../core/path.ts'
import { roughly, visible } from '../core/text.ts'
import { switchForm } from './forms.ts'
import type { Page, Surroundings } from './layout.ts'
import { bounds, facts, link, nothing, state, table, taskLink, text, time, topicLink } from './parts.ts'
import type { Column, Html } from './parts.ts'

export async function nodesPage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const { topic } = read(z.object({ topic: topicFilter }), { topic: given['topic'] ?? [] })
  const { nodes } = await readNodes(asked, { topic })
  const columns: readonly Column<NodeAnswer>[] = [
    { name: 'process', cell: ({ owner, name }) => link(root, `nodes/${segment(owner)}`, text(name, 80)) },
    { name: 'state', cell: life },
    { name: 'release', cell: ({ release }) => text(release, 40) },
    { name: 'topics', isNumber: true, cell: ({ topics }) => String(topics.length) },
    { name: 'busy', isNumber: true, cell: busy },
    { name: 'ended, 1 min', isNumber: true, cell: ({ topics }) => String(sum(topics, 'ended')) },
    { name: 'failed', isNumber: true, cell: ({ topics }) => String(sum(topics, 'failed')) },
    { name: 'heartbeat', cell: ({ heartbeat }) => time(heartbeat) },
    { name: 'started', cell: ({ started }) => time(started) },
    { name: 'trouble', isWords: true, cell: (node) => text(trouble(node), 200) },
  ]
  const releases = [
    ...Map.groupBy(
      nodes.filter(({ life: word }) => word === 'living'),
      ({ release = 'no release' }) => release,
    ),
  ]
  const empty =
    topic === undefined
      ? 'No process has been seen for a day, or they are of a release that tells nothing.'
      : 'No process tells that it processes this topic.'
  return {
    title: topic === undefined ? 'Nodes' : `Nodes of ${visible(topic, 80)}`,
    json: `nodes${topic === undefined ? '' : `?topic=${encodeURIComponent(topic)}`}`,
    body: html`${topic === undefined ? '' : html`<p>${link(root, 'nodes', 'Every node')}</p>`}
    ${releases.length > 1 ? html`<p>Releases side by side: ${releases.map(([release, each]) => `${visible(release, 40)} (${each.length})`).join(', ')}</p>` : ''}
    ${table('Processes of the last day, those that live first', columns, nodes, ({ owner }) => `node-${segment(owner)}`, empty)}`,
  }
}

function life({ life: word, quiet, kind }: NodeAnswer): Html {
  return html`${state(quiet && word !== 'stopped' ? 'quiet' : word)}${kind === 'scheduler' ? ' scheduler' : ''}`
}

function busy({ topics }: NodeAnswer): string {
  return topics.length === 0 ? '' : `${sum(topics, 'busy')} of ${sum(topics, 'concurrency')}`
}

function sum(topics: readonly NodeTopic[], field: 'busy' | 'concurrency' | 'ended' | 'failed'): number {
  return topics.reduce((total, topic) => total + (topic[field] ?? 0), 0)
}

function trouble({ error, topics }: NodeAnswer): string | undefined {
  const first = error ?? topics.find((topic) => topic.error)?.error
  if (first) return told(first)
  const newer = topics.find((topic) => topic.newer)?.newer
  return newer && toldNewer(newer)
}

const told = ({ activity, message }: NodeTrouble): string => `${activity}: ${message}`
const toldNewer = ({ message }: NodeTrouble): string => `puts off: ${message}`

export async function nodePage(asked: Asked, given: Given, { root }: Surroundings): Promise<Page> {
  const { owner } = read(z.object({ owner: z.string().min(1).max(250) }), { owner: given['owner'] ?? [] })
  const node = await readNode(asked, { owner })
  const { tasks, bounded } = await readHeld(asked, { owner, size: 100 })
  const topics: readonly Column<NodeTopic>[] = [
    { name: 'topic', cell: ({ topic }) => topicLink(root, topic) },
    { name: 'mode', cell: ({ mode }) => mode ?? '' },
    {
      name: 'busy',
      isNumber: true,
      cell: ({ busy: now = 0, concurrency }) => (concurrency === undefined ? String(now) : `${now} of ${concurrency}`),
    },
    { name: 'batch', isNumber: true, cell: ({ size }) => String(size ?? '') },
    { name: 'ended, 1 min', isNumber: true, cell: ({ ended }) => String(ended ?? '') },
    { name: 'failed', isNumber: true, cell: ({ failed }) => String(failed ?? '') },
    {
      name: 'do not let go',
      cell: ({ topic, stuck = [], hung = 0 }) => {
        const held = stuck
          .slice(0, 5)
          .map(({ sequence, forMs }) => html`${taskLink(root, { topic, sequence })} (${roughly(forMs)}) `)
        return held.length + hung === 0 ? nothing : html`${held}${hung > 0 ? `${hung} of tasks that were decided` : nothing}`
      },
    },
    {
      name: 'trouble',
      isWords: true,
      cell: ({ error, newer }) => {
        if (error) return html`${text(told(error))} ${time(error.since)}`
        return newer ? html`${text(toldNewer(newer))} ${time(newer.since)}` : nothing
      },
    },
  ]
  const held: readonly Column<HeldInfo>[] = [
    { name: 'task', cell: (task) => taskLink(root, task) },
    { name: 'topic', cell: ({ topic }) => topicLink(root, topic) },
    { name: 'held since', cell: ({ started }) => time(started) },
    { name: 'attempt', isNumber: true, cell: ({ attempt }) => String(attempt) },
  ]
  return {
    title: visible(node.name, 120),
    json: `nodes/${segment(owner)}`,
    body: html`${facts([
        ['state', life(node)],
        ['release', text(node.release)],
        ['host', node.host === undefined ? undefined : html`${text(node.host)}, process ${node.pid}`],
        ['started', time(node.started)],
        ['heartbeat', time(node.heartbeat)],
        ['told of itself', time(node.reported)],
        ['lease', node.leaseMs === undefined ? undefined : roughly(node.leaseMs)],
        ['event loop stood still', node.blockedMs === undefined ? undefined : `${Math.round(node.blockedMs)} ms`],
        ['trouble', node.error ? html`${text(told(node.error))} ${time(node.error.since)}` : undefined],
        ['owner', text(node.owner)],
      ])}
      ${node.life === 'stopped' || node.life === 'dead' ? '' : node.quiet ? switchForm(asked, `${root}nodes/${segment(owner)}/unquiet`, 'Have it take tasks again') : switchForm(asked, `${root}nodes/${segment(owner)}/quiet`, 'Have it take no more tasks', true)}
      <h2>Topics</h2>
      ${table('Topics of this process', topics, node.topics, ({ topic }) => `topic-${segment(topic)}`, 'None is told.')}
      <h2>Held tasks</h2>
      ${table('Tasks that it holds, the longest held first', held, tasks, ({ topic, sequence }) => `held-${segment(topic)}-${sequence}`, 'It holds no task.')}
      ${bounds(bounded)}`,
  }
}
