export { firstPort, runningGateways } from './gateway-file.ts'
export { type Gateway, startGateway, tokensFile } from './start-gateway.ts'
