export { type Config, type ConfigFile, type EndpointConfig, type ConfigFlags, loadConfig } from './config.ts'
