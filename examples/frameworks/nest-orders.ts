import { randomUUID } from 'node:crypto'
import { Body, Controller, Inject, Injectable, Post } from '@nestjs/common'
import { defineJob, json } from 'taskstream/typeorm'
import type { Stream } from 'taskstream/typeorm'
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm'
import type { EntityManager } from 'typeorm'

@Entity('orders')
export class Order {
  @PrimaryColumn('text')
  id!: string
  @Column('text')
  customer!: string
}

/** Stands for a mail that was sent: it is a row, so that everybody can count it. */
@Entity('mails')
export class Mail {
  @PrimaryColumn('text')
  order_id!: string
  @Column('text')
  customer!: string
}

export const mail = defineJob('mail', { input: json<Mail>(), timeoutMs: 10_000 })

/** By this name others have the stream injected, and tests give another. */
export const STREAM = Symbol('stream')

@Injectable()
export class MailHandler {
  constructor(@Inject(STREAM) stream: Stream<EntityManager>) {
    stream.handle(mail, ({ input, commit }) => commit((manager) => manager.insert(Mail, input)))
  }
}

@Controller('orders')
export class OrdersController {
  constructor(
    @Inject(DataSource) private readonly dataSource: DataSource,
    @Inject(STREAM) private readonly stream: Stream<EntityManager>,
  ) {}

  @Post()
  place(@Body() { customer }: { customer: string }): Promise<{ id: string }> {
    return this.dataSource.transaction(async (manager) => {
      const id = randomUUID()
      await manager.insert(Order, { id, customer })
      await this.stream.push(manager, mail, { order_id: id, customer })
      return { id }
    })
  }
}
