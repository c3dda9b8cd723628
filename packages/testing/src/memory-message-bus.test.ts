import { memoryMessageBus, messageStorage } from './memory-message-bus.ts'
import { messageBusContract } from './message-bus-contract.ts'

messageBusContract('memoryMessageBus', async () => {
  const storage = messageStorage()
  return [memoryMessageBus(storage), memoryMessageBus(storage)]
})
