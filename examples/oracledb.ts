import oracledb from 'oracledb'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromOracledb, oracle, oracledbTransactions } from '@taskstream/task-sql/oracledb'

const { ORACLE_USER: user = '', ORACLE_PASSWORD: password = '', ORACLE_CONNECT: connectString = '' } = process.env
const transactions = oracledbTransactions(await oracledb.createPool({ user, password, connectString, stmtCacheSize: 100 }))
const tasks = sqlTaskRepository({ dialect: oracle(), adapter: fromOracledb(oracledb) })

await transactions(async (connection) => {
  await connection.execute('insert into invoice (id) values (:1)', ['inv-1'])
  await tasks.push(connection, 'invoices', 'inv-1')
})
