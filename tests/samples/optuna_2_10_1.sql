BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('v2.6.0.a');
CREATE TABLE studies (
	study_id INTEGER NOT NULL, 
	study_name VARCHAR(512) NOT NULL, 
	PRIMARY KEY (study_id)
);
INSERT INTO "studies" VALUES(1,'gemm');
CREATE TABLE study_directions (
	study_direction_id INTEGER NOT NULL, 
	direction VARCHAR(8) NOT NULL, 
	study_id INTEGER NOT NULL, 
	objective INTEGER NOT NULL, 
	PRIMARY KEY (study_direction_id), 
	UNIQUE (study_id, objective), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "study_directions" VALUES(1,'MINIMIZE',1,0);
CREATE TABLE study_system_attributes (
	study_system_attribute_id INTEGER NOT NULL, 
	study_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (study_system_attribute_id), 
	UNIQUE (study_id, "key"), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
CREATE TABLE study_user_attributes (
	study_user_attribute_id INTEGER NOT NULL, 
	study_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (study_user_attribute_id), 
	UNIQUE (study_id, "key"), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "study_user_attributes" VALUES(1,1,'hardware','"NVIDIA A100-PCIE-40GB"');
INSERT INTO "study_user_attributes" VALUES(2,1,'op','"gemm"');
INSERT INTO "study_user_attributes" VALUES(3,1,'metric','"kernel_time"');
INSERT INTO "study_user_attributes" VALUES(4,1,'unit','"ms"');
CREATE TABLE trial_heartbeats (
	trial_heartbeat_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	heartbeat DATETIME NOT NULL, 
	PRIMARY KEY (trial_heartbeat_id), 
	UNIQUE (trial_id), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_intermediate_values (
	trial_intermediate_value_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	step INTEGER NOT NULL, 
	intermediate_value FLOAT NOT NULL, 
	PRIMARY KEY (trial_intermediate_value_id), 
	UNIQUE (trial_id, step), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_params (
	param_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	param_name VARCHAR(512), 
	param_value FLOAT, 
	distribution_json TEXT, 
	PRIMARY KEY (param_id), 
	UNIQUE (trial_id, param_name), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_params" VALUES(1,1,'block',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": [32, 64, 128]}}');
INSERT INTO "trial_params" VALUES(2,1,'stages',2.0,'{"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 5, "step": 1}}');
INSERT INTO "trial_params" VALUES(3,1,'ratio',2.17404712653690435075e-01,'{"name": "UniformDistribution", "attributes": {"low": 0.1, "high": 0.9}}');
INSERT INTO "trial_params" VALUES(4,1,'lr',2.34074648057675152416e-05,'{"name": "LogUniformDistribution", "attributes": {"low": 1e-05, "high": 0.1}}');
INSERT INTO "trial_params" VALUES(5,1,'q',0.0,'{"name": "DiscreteUniformDistribution", "attributes": {"low": 0.0, "high": 1.0, "q": 0.25}}');
INSERT INTO "trial_params" VALUES(6,2,'block',2.0,'{"name": "CategoricalDistribution", "attributes": {"choices": [32, 64, 128]}}');
INSERT INTO "trial_params" VALUES(7,2,'stages',3.0,'{"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 5, "step": 1}}');
INSERT INTO "trial_params" VALUES(8,2,'ratio',6.48175600317407618611e-01,'{"name": "UniformDistribution", "attributes": {"low": 0.1, "high": 0.9}}');
INSERT INTO "trial_params" VALUES(9,2,'lr',6.57368665513832707743e-05,'{"name": "LogUniformDistribution", "attributes": {"low": 1e-05, "high": 0.1}}');
INSERT INTO "trial_params" VALUES(10,2,'q',1.0,'{"name": "DiscreteUniformDistribution", "attributes": {"low": 0.0, "high": 1.0, "q": 0.25}}');
INSERT INTO "trial_params" VALUES(11,3,'block',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": [32, 64, 128]}}');
INSERT INTO "trial_params" VALUES(12,3,'stages',3.0,'{"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 5, "step": 1}}');
INSERT INTO "trial_params" VALUES(13,3,'ratio',2.1230955087618702537e-01,'{"name": "UniformDistribution", "attributes": {"low": 0.1, "high": 0.9}}');
INSERT INTO "trial_params" VALUES(14,3,'lr',6.20020367716471627883e-05,'{"name": "LogUniformDistribution", "attributes": {"low": 1e-05, "high": 0.1}}');
INSERT INTO "trial_params" VALUES(15,3,'q',1.0,'{"name": "DiscreteUniformDistribution", "attributes": {"low": 0.0, "high": 1.0, "q": 0.25}}');
INSERT INTO "trial_params" VALUES(16,4,'block',0.0,'{"name": "CategoricalDistribution", "attributes": {"choices": [32, 64, 128]}}');
INSERT INTO "trial_params" VALUES(17,4,'stages',5.0,'{"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 5, "step": 1}}');
INSERT INTO "trial_params" VALUES(18,4,'ratio',8.15685330803077923711e-01,'{"name": "UniformDistribution", "attributes": {"low": 0.1, "high": 0.9}}');
INSERT INTO "trial_params" VALUES(19,4,'lr',2.18865266574654277007e-05,'{"name": "LogUniformDistribution", "attributes": {"low": 1e-05, "high": 0.1}}');
INSERT INTO "trial_params" VALUES(20,4,'q',0.0,'{"name": "DiscreteUniformDistribution", "attributes": {"low": 0.0, "high": 1.0, "q": 0.25}}');
INSERT INTO "trial_params" VALUES(21,5,'block',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": [32, 64, 128]}}');
INSERT INTO "trial_params" VALUES(22,5,'stages',3.0,'{"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 5, "step": 1}}');
INSERT INTO "trial_params" VALUES(23,5,'ratio',8.66311624120401524429e-01,'{"name": "UniformDistribution", "attributes": {"low": 0.1, "high": 0.9}}');
INSERT INTO "trial_params" VALUES(24,5,'lr',1.35725403013136659835e-03,'{"name": "LogUniformDistribution", "attributes": {"low": 1e-05, "high": 0.1}}');
INSERT INTO "trial_params" VALUES(25,5,'q',0.75,'{"name": "DiscreteUniformDistribution", "attributes": {"low": 0.0, "high": 1.0, "q": 0.25}}');
INSERT INTO "trial_params" VALUES(26,6,'block',2.0,'{"name": "CategoricalDistribution", "attributes": {"choices": [32, 64, 128]}}');
INSERT INTO "trial_params" VALUES(27,6,'stages',1.0,'{"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 5, "step": 1}}');
INSERT INTO "trial_params" VALUES(28,6,'ratio',0.700115451955974,'{"name": "UniformDistribution", "attributes": {"low": 0.1, "high": 0.9}}');
INSERT INTO "trial_params" VALUES(29,6,'lr',0.0902494067192741,'{"name": "LogUniformDistribution", "attributes": {"low": 1e-05, "high": 0.1}}');
INSERT INTO "trial_params" VALUES(30,6,'q',0.75,'{"name": "DiscreteUniformDistribution", "attributes": {"low": 0.0, "high": 1.0, "q": 0.25}}');
INSERT INTO "trial_params" VALUES(31,7,'block',1.0,'{"name": "CategoricalDistribution", "attributes": {"choices": [32, 64, 128]}}');
INSERT INTO "trial_params" VALUES(32,7,'stages',3.0,'{"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 5, "step": 1}}');
INSERT INTO "trial_params" VALUES(33,7,'ratio',8.26876402474476468462e-01,'{"name": "UniformDistribution", "attributes": {"low": 0.1, "high": 0.9}}');
INSERT INTO "trial_params" VALUES(34,7,'lr',1.49436467737883605256e-04,'{"name": "LogUniformDistribution", "attributes": {"low": 1e-05, "high": 0.1}}');
INSERT INTO "trial_params" VALUES(35,7,'q',0.25,'{"name": "DiscreteUniformDistribution", "attributes": {"low": 0.0, "high": 1.0, "q": 0.25}}');
INSERT INTO "trial_params" VALUES(36,8,'block',2.0,'{"name": "CategoricalDistribution", "attributes": {"choices": [32, 64, 128]}}');
INSERT INTO "trial_params" VALUES(37,8,'stages',2.0,'{"name": "IntUniformDistribution", "attributes": {"low": 1, "high": 5, "step": 1}}');
INSERT INTO "trial_params" VALUES(38,8,'ratio',3.1243732749778097002e-01,'{"name": "UniformDistribution", "attributes": {"low": 0.1, "high": 0.9}}');
INSERT INTO "trial_params" VALUES(39,8,'lr',9.25321465764258107439e-04,'{"name": "LogUniformDistribution", "attributes": {"low": 1e-05, "high": 0.1}}');
INSERT INTO "trial_params" VALUES(40,8,'q',0.0,'{"name": "DiscreteUniformDistribution", "attributes": {"low": 0.0, "high": 1.0, "q": 0.25}}');
CREATE TABLE trial_system_attributes (
	trial_system_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_system_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_user_attributes (
	trial_user_attribute_id INTEGER NOT NULL, 
	trial_id INTEGER, 
	"key" VARCHAR(512), 
	value_json TEXT, 
	PRIMARY KEY (trial_user_attribute_id), 
	UNIQUE (trial_id, "key"), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
CREATE TABLE trial_values (
	trial_value_id INTEGER NOT NULL, 
	trial_id INTEGER NOT NULL, 
	objective INTEGER NOT NULL, 
	value FLOAT NOT NULL, 
	PRIMARY KEY (trial_value_id), 
	UNIQUE (trial_id, objective), 
	FOREIGN KEY(trial_id) REFERENCES trials (trial_id)
);
INSERT INTO "trial_values" VALUES(1,1,0,2.85740471265369055942e+00);
INSERT INTO "trial_values" VALUES(2,2,0,4.92817560031740775627e+00);
INSERT INTO "trial_values" VALUES(3,3,0,3.85230955087618731624e+00);
INSERT INTO "trial_values" VALUES(4,5,0,4.50631162412040175979e+00);
INSERT INTO "trial_values" VALUES(5,6,0,2.98011545195597449264e+00);
INSERT INTO "trial_values" VALUES(6,7,0,4.46687640247447692587e+00);
INSERT INTO "trial_values" VALUES(7,8,0,3.59243732749778121871e+00);
CREATE TABLE trials (
	trial_id INTEGER NOT NULL, 
	number INTEGER, 
	study_id INTEGER, 
	state VARCHAR(8) NOT NULL, 
	datetime_start DATETIME, 
	datetime_complete DATETIME, 
	PRIMARY KEY (trial_id), 
	FOREIGN KEY(study_id) REFERENCES studies (study_id)
);
INSERT INTO "trials" VALUES(1,0,1,'COMPLETE','2026-11-26 13:00:22.994848','2026-11-26 13:00:23.160335');
INSERT INTO "trials" VALUES(2,1,1,'COMPLETE','2026-11-26 13:00:23.191444','2026-11-26 13:00:23.296245');
INSERT INTO "trials" VALUES(3,2,1,'COMPLETE','2026-11-26 13:00:23.327060','2026-11-26 13:00:23.472313');
INSERT INTO "trials" VALUES(4,3,1,'PRUNED','2026-11-26 13:00:23.507766','2026-11-26 13:00:23.640155');
INSERT INTO "trials" VALUES(5,4,1,'COMPLETE','2026-11-26 13:00:23.667287','2026-11-26 13:00:23.828271');
INSERT INTO "trials" VALUES(6,5,1,'COMPLETE','2026-11-26 13:00:23.851467','2026-11-26 13:00:23.964135');
INSERT INTO "trials" VALUES(7,6,1,'COMPLETE','2026-11-26 13:00:23.985032','2026-11-26 13:00:24.144350');
INSERT INTO "trials" VALUES(8,7,1,'COMPLETE','2026-11-26 13:00:24.179208','2026-11-26 13:00:24.344316');
CREATE TABLE version_info (
	version_info_id INTEGER NOT NULL, 
	schema_version INTEGER, 
	library_version VARCHAR(256), 
	PRIMARY KEY (version_info_id), 
	CHECK (version_info_id=1)
);
INSERT INTO "version_info" VALUES(1,12,'2.10.1');
CREATE UNIQUE INDEX ix_studies_study_name ON studies (study_name);
COMMIT;
