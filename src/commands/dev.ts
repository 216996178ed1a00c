import { Command } from '@oclif/core';

export default class Dev extends Command {
  static override summary = 'Run the embedded registry';
  async run(): Promise<void> {
    this.log('soon');
  }
}
