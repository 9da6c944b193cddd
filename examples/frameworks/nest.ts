import 'reflect-metadata'
import { Inject, Injectable, Module } from '@nestjs/common'
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { taskConsole } from '@taskstream/task-console'
import { toNode } from '@taskstream/task-console/node'
import { taskstream } from 'taskstream/typeorm'
import type { Stream } from 'taskstream/typeorm'
import { DataSource } from 'typeorm'
import type { EntityManager } from 'typeorm'
import { Mail, MailHandler, Order, OrdersController, STREAM } from './nest-orders.js'

const url = process.env['DATABASE_URL'] ?? 'shop.db'
const database = url.startsWith('postgres') ? 'postgres' : 'sqlite'
const entities = [Order, Mail]

const dataSource = {
  provide: DataSource,
  useFactory: () =>
    new DataSource(
      database === 'postgres'
        ? { type: 'postgres', url, entities }
        : { type: 'better-sqlite3', database: url, enableWAL: true, timeout: 0, entities },
    ).initialize(),
}
const stream = {
  provide: STREAM,
  inject: [DataSource],
  useFactory: (source: DataSource) => taskstream(source, { database }),
}

/** Starts when every module has its handlers, and stops in phases when Nest does. */
@Injectable()
class StreamLifecycle implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    @Inject(DataSource) private readonly source: DataSource,
    @Inject(STREAM) private readonly stream: Stream<EntityManager>,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.stream.start()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.stream.stop()
    await this.source.destroy()
  }
}

@Module({ controllers: [OrdersController], providers: [dataSource, stream, MailHandler, StreamLifecycle] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: false })
app.enableShutdownHooks()
const own = app.get<Stream<EntityManager>>(STREAM)
const ops = taskConsole({
  repository: own.tasks,
  transactions: (work) => own.transaction(work),
  basePath: '/ops/tasks',
  authorize: (request) => {
    const name = request.headers.get('x-user')
    return name === null ? undefined : { name, role: 'operator' }
  },
})
app.use('/ops/tasks', toNode(ops))
await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
const { port } = app.getHttpServer().address() as { port: number }
console.log(`http://127.0.0.1:${port}`)
