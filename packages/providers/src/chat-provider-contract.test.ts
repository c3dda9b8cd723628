import { chatProviderContract } from '@beaver/testing'
import { afterEach } from 'vitest'
import { chatEndpoint, closePrograms, programModel, responsesEndpoint } from '../test/contract-models.ts'
import { closeServers } from '../test/kit.ts'

afterEach(async () => {
  closePrograms()
  await closeServers()
})

chatProviderContract('chat completions', chatEndpoint)
chatProviderContract('the Responses API', responsesEndpoint)
chatProviderContract('a model of a program', programModel)
