export { type Gateway, startGateway, tokensFile } from './start-gateway.ts'
