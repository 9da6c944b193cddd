import { pollConditions, pollOrders, taskRecords } from '@taskstream/task-api'
import type { TopicLimits, TopicOptions } from '@taskstream/task-api'
import { createTopic, destroyTopic } from '@taskstream/task-operations'
import { Option } from 'commander'
import type { Command } from 'commander'
import { tellUndo } from '../core/bulk.ts'
import { confirmWrite, withConfirmation } from '../core/confirm.ts'
import type { ConfirmOptions } from '../core/confirm.ts'
import { openDatabase } from '../core/database.ts'
import { checkTopicKnown } from '../core/known.ts'
import { operatorOf } from '../core/operator.ts'
import { withCommon } from '../core/options.ts'
import type { CommonOptions } from '../core/options.ts'
import { atMost, readTopics } from '../core/topics.ts'
import { duration } from '../output/duration.ts'
import { printDone } from '../output/print.ts'

/** How far tasks are counted for the preview of a destruction. */
const counted = 1_000

export function addTopic(program: Command): void {
  const topic = program.command('topic').description('create and destroy topics, and show what options they have')
  addCreate(topic)
  addOptions(topic)
  addDestroy(topic)
}

function addCreate(parent: Command): void {
  withCommon(parent.command('create').description('make a topic known; a known topic stays as it is'))
    .argument('<topic>')
    .addOption(new Option('--order <order>', 'the order in which tasks are polled (default: fifo)').choices(pollOrders))
    .addOption(new Option('--condition <condition>', 'which tasks may be polled (default: none)').choices(pollConditions))
    .option('--keyed', 'keep an index of identifiers; a topic with a condition always has one')
    .addOption(
      new Option('--record <record>', 'what is written of a task while it is done (default: states)').choices(taskRecords),
    )
    .addHelpText(
      'after',
      `
Examples:
  taskstream topic create invoices
  taskstream topic create invoices --order priority --condition singular-by-identifier`,
    )
    .action(async (topic: string, { order, condition, keyed, record, ...options }: CommonOptions & TopicOptions) => {
      await using database = await openDatabase(options)
      const asked = {
        ...(order && { order }),
        ...(condition && { condition }),
        ...(keyed && { keyed }),
        ...(record && { record }),
      }
      // Without options, a known topic may have any order and condition.
      const given = Object.keys(asked).length > 0 ? asked : undefined
      const { changed: created, id } = await createTopic(operatorOf(database), topic, given)
      const line = `${created ? 'created' : 'already there'}: ${topic}`
      printDone({ json: { topic, created, audit: id }, lines: [line], names: [topic] }, options)
      tellUndo(id, 'topic create')
    })
}

function addOptions(parent: Command): void {
  withCommon(parent.command('options').description('show the order, condition, limits and state of a topic'))
    .argument('<topic>')
    .addHelpText('after', '\nExample:\n  taskstream topic options invoices')
    .action(async (topic: string, options: CommonOptions) => {
      await using database = await openDatabase(options)
      await checkTopicKnown(database, topic)
      const row = (await readTopics(database, 1)).find((each) => each.topic === topic)!
      const limits: TopicLimits =
        (await database.reading<ReadonlyMap<string, TopicLimits>>((transaction) => database.tasks.limits(transaction))).get(
          topic,
        ) ?? {}
      const { order, condition, keyed, record, paused } = row
      const { total, rate, maxEntries, deadLetter } = limits
      const lines = [
        ['order', order],
        ['condition', condition],
        ['identifiers', keyed ? 'in an index' : 'not in an index'],
        ['record', record],
        ['state', paused ? 'paused' : 'processed'],
        ['total', total ?? 'no limit'],
        ['rate', rate === undefined ? 'no limit' : `${rate.count} in ${duration(rate.perMs)}`],
        ['entries', maxEntries === undefined ? 'no limit' : `${maxEntries.count}, then ${maxEntries.whenFull ?? 'reject'}`],
        ['dead letters', deadLetter ?? 'nowhere'],
      ].map(([name, value]) => `${String(name).padEnd(13)} ${value}`)
      printDone({ json: { topic, order, condition, keyed, record, paused, ...limits }, lines, names: [topic] }, options)
    })
}

function addDestroy(parent: Command): void {
  withConfirmation(
    withCommon(parent.command('destroy').description('delete a topic with all of its tasks, active and delayed ones too')),
  )
    .argument('<topic>')
    .addHelpText(
      'after',
      `
Stop producers first: a push that commits later may leave its tasks in a new topic of this name.

Examples:
  taskstream topic destroy invoices --dry-run
  taskstream topic destroy invoices --yes`,
    )
    .action(async (topic: string, { dryRun = false, ...options }: CommonOptions & ConfirmOptions) => {
      await using database = await openDatabase(options)
      await checkTopicKnown(database, topic)
      const { ready, active, delayed } = (await readTopics(database, counted)).find((each) => each.topic === topic)!
      const [waiting, working, later] = [ready, active, delayed].map((count) => atMost(count, counted))
      const preview = `topic ${topic} has ${waiting} ready, ${working} active and ${later} delayed tasks, and its history; all are deleted`
      if (dryRun) return printDone({ json: { topic, destroyed: false, dryRun }, lines: [preview], names: [topic] }, options)
      await confirmWrite({ preview, isGrave: true, count: 1 }, database, options)
      const { changed: destroyed, id } = await destroyTopic(operatorOf(database), topic)
      tellUndo(id, 'destroy')
      printDone({ json: { topic, destroyed, dryRun, audit: id }, lines: [`destroyed: ${topic}`], names: [topic] }, options)
    })
}
