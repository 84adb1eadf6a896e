"""What stands in front of an agent: decisions, and who decides where the policy abstains."""
