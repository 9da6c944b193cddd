import 'reflect-metadata'
import { Body, Controller, Module, Post } from '@nestjs/common'
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { toNode } from '@taskstream/task-console/node'
import { db, ops, placeOrder, stream } from './shop.mjs'

@Controller('orders')
class OrdersController {
  @Post()
  async place(@Body() order: { customer: string }): Promise<{ id: string }> {
    return { id: await placeOrder(order.customer) }
  }
}

/** Starts with the module, and stops in phases when Nest does. */
class StreamLifecycle implements OnModuleInit, OnApplicationShutdown {
  async onModuleInit(): Promise<void> {
    await stream.start()
  }

  async onApplicationShutdown(): Promise<void> {
    await stream.stop()
    await db.destroy()
  }
}

@Module({ controllers: [OrdersController], providers: [StreamLifecycle] })
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: false })
app.enableShutdownHooks()
app.use('/ops/tasks', toNode(ops))
await app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
const { port } = app.getHttpServer().address() as { port: number }
console.log(`http://127.0.0.1:${port}`)
