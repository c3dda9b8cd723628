export { type Config, type ConfigFile, type ConfigFlags, loadConfig } from './config.ts'
