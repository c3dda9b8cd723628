import { memorySystemLog } from './memory-system-log.ts'
import { systemLogContract } from './system-log-contract.ts'

systemLogContract('memorySystemLog', async () => memorySystemLog())
